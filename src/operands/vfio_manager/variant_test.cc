// SPDX-License-Identifier: Apache-2.0
#include "operands/vfio_manager/variant.h"

#include <gtest/gtest.h>

namespace gantry::vfio_manager {
namespace {

constexpr char kAliases[] =
    "# Aliases extracted from modules themselves.\n"
    "alias pci:v000010DEd*sv*sd*bc03sc02i00* nvidia\n"
    "alias vfio_pci:v*d*sv*sd*bc*sc*i* vfio_pci\n"
    "alias vfio_pci:v000010DEd00002342sv*sd*bc*sc*i* nvgrace_gpu_vfio_pci\n"
    "alias vfio_pci:v000015B3d0000101Esv*sd*bc*sc*i* mlx5_vfio_pci\n"
    "alias vfio_pci:broken\n";

TEST(VfioModuleTest, IsTheClosest) {
  EXPECT_EQ(VfioModule("pci:v000010DEd00002342sv000010DEsd000016EBbc03sc02i00\n", kAliases),
            "nvgrace_gpu_vfio_pci");
  EXPECT_EQ(VfioModule("pci:v000010DEd00001EB8sv000010DEsd000012A2bc03sc02i00", kAliases),
            "vfio_pci");
}

TEST(VfioModuleTest, IsTheGeneralOneIfNoneIsNamed) {
  EXPECT_EQ(VfioModule("pci:v000010DEd00001EB8sv000010DEsd000012A2bc03sc02i00", ""), "vfio_pci");
  EXPECT_EQ(VfioModule("", kAliases), "vfio_pci");
}

}  // namespace
}  // namespace gantry::vfio_manager
