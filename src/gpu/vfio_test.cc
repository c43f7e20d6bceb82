// SPDX-License-Identifier: Apache-2.0
#include "gpu/vfio.h"

#include <gtest/gtest.h>

namespace gantry::gpu {
namespace {

constexpr char kDatabase[] =
    "# a comment\n"
    "10dd  Somebody\n"
    "\t20b2  Not this one\n"
    "10de  NVIDIA Corporation\n"
    "\t1eb8  TU104GL [Tesla T4]\n"
    "\t\t10de 12a2  Tesla T4\n"
    "\t20b2  GA100 [A100 SXM4 80GB]\n"
    "10df  Emulex\n"
    "\t2330  Not this one either\n";

TEST(IsVfioDriver, AlsoForVariants) {
  EXPECT_TRUE(IsVfioDriver("vfio-pci"));
  EXPECT_TRUE(IsVfioDriver("nvgrace_gpu_vfio_pci"));
  EXPECT_TRUE(IsVfioDriver("nvgrace-gpu-vfio-pci"));
  EXPECT_FALSE(IsVfioDriver(""));
  EXPECT_FALSE(IsVfioDriver("nvidia"));
  EXPECT_FALSE(IsVfioDriver("nvidia_vgpu_vfio"));
}

TEST(KeepsItsGroup, WithADriverOfTheHost) {
  EXPECT_TRUE(KeepsItsGroup("nvidia"));
  EXPECT_TRUE(KeepsItsGroup("snd_hda_intel"));
  for (const char* driver : {"", "vfio-pci", "pci-stub", "pcieport"}) {
    EXPECT_FALSE(KeepsItsGroup(driver)) << driver;
  }
}

TEST(NameInPciIds, IsTheDevicesUnderItsVendor) {
  EXPECT_EQ(NameInPciIds(kDatabase, 0x10de, 0x20b2), "GA100 [A100 SXM4 80GB]");
  EXPECT_EQ(NameInPciIds(kDatabase, 0x10de, 0x1eb8), "TU104GL [Tesla T4]");
  EXPECT_EQ(NameInPciIds(kDatabase, 0x10de, 0x2330), std::nullopt);
  EXPECT_EQ(NameInPciIds(kDatabase, 0x10df, 0x2330), "Not this one either");
  EXPECT_EQ(NameInPciIds("", 0x10de, 0x2330), std::nullopt);
}

TEST(AddressableMemory, IsAllWindowsTogetherAsAPowerOfTwo) {
  // An A100: 16 MiB of registers, 128 GiB of memory, 32 MiB.
  EXPECT_EQ(AddressableMemory("0x00000000c6000000 0x00000000c6ffffff 0x0000000000040200\n"
                              "0x0000002000000000 0x0000003fffffffff 0x000000000014220c\n"
                              "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
                              "0x0000004010000000 0x0000004011ffffff 0x000000000014220c\n"
                              "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
                              "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
                              "0x0000000000000000 0x0000ffffffffffff 0x0000000000000200\n"),
            uint64_t{256} << 30);
  EXPECT_EQ(AddressableMemory("0x1000 0x10ff 0x40101\n"), 0U);  // ports, no memory
  EXPECT_EQ(AddressableMemory("0x2000 0x1000 0x200\n"), 0U);
  EXPECT_EQ(AddressableMemory("what\n"), 0U);
  EXPECT_EQ(AddressableMemory("0x1 0xffffffffffffffff 0x200\n0x0 0xfff 0x200\n"), 4096U);
}

}  // namespace
}  // namespace gantry::gpu
