// SPDX-License-Identifier: Apache-2.0
#include "host/pci.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/testing/temp_folder.h"

namespace gantry::host {
namespace {

TEST(Pci, TheRootComplexIsInTheLinkOfAFunction) {
  const TempFolder sys;
  const std::string device = "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0";
  std::filesystem::create_directories(sys / device);
  std::filesystem::create_directories(sys / "bus/pci/devices");
  std::filesystem::create_symlink("../../../" + device, sys / "bus/pci/devices/0000:3b:00.0");
  EXPECT_EQ(PcieRoot(sys.path(), "0000:3b:00.0"), "pci0000:3a");
  std::filesystem::create_directories(sys / "bus/pci/devices/0000:01:00.0");
  EXPECT_EQ(PcieRoot(sys.path(), "0000:01:00.0"), "");
  EXPECT_EQ(PcieRoot(sys.path(), "0000:02:00.0"), "");
}

}  // namespace
}  // namespace gantry::host
