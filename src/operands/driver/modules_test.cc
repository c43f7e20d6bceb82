// SPDX-License-Identifier: Apache-2.0
#include "operands/driver/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ModuleNames, AreTheKernels) {
  EXPECT_EQ(KernelName("nvidia-uvm"), "nvidia_uvm");
  EXPECT_EQ(ModuleOfFile("nvidia-uvm.ko"), "nvidia_uvm");
  EXPECT_EQ(ModuleOfFile("nvidia.ko.xz"), "nvidia");
  EXPECT_EQ(ModuleOfFile(".ko"), "");
  EXPECT_EQ(ModuleOfFile("nvidia.ko.sign"), "");
}

TEST(ModuleParametersTest, AreOneLine) {
  EXPECT_EQ(ModuleParameters("nvidia.conf", "NVreg_A=1 NVreg_B=2\n\n# no\nflag\r\n").value(),
            "NVreg_A=1 NVreg_B=2 flag");
  EXPECT_EQ(ModuleParameters("x", "NVreg_RegistryDwords=\"a=1; #b=2\"").value(),
            "NVreg_RegistryDwords=\"a=1; #b=2\"");
  EXPECT_EQ(ModuleParameters("x", "").value(), "");
  for (const char* bad : {"a=\"1\nb=2\"", "a=\"1", "ok=1\na=\x01"}) {
    const auto refused = ModuleParameters("nvidia-uvm.conf", bad);
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(refused.error().message, HasSubstr("nvidia-uvm.conf: line "));
  }
}

TEST(LoadOrderTest, IsTheNamesWithoutThoseThatTheDriverHasNot) {
  const std::map<std::string, std::string> files = {{"nvidia_uvm", "/m/nvidia-uvm.ko"},
                                                    {"nvidia", "/m/nvidia.ko"},
                                                    {"nvidia_peermem", "/m/p.ko"}};
  EXPECT_THAT(LoadOrder({"nvidia", "nvidia-uvm", "nvidia-drm"}, files, {{"nvidia", "a=1"}}).value(),
              ElementsAre(ModuleLoad{"nvidia", "/m/nvidia.ko", "a=1"},
                          ModuleLoad{"nvidia_uvm", "/m/nvidia-uvm.ko", ""}));
  const auto missing = LoadOrder({"nvidia", "nvidia-uvm"}, {{"nvidia_uvm", "/m/u.ko"}}, {});
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message, "there is no nvidia.ko among the driver's modules");
}

TEST(UnloadOrderTest, IsUsersFirst) {
  constexpr char kModules[] =
      "nvidia_fs 300 0 - Live 0x0 (OE)\n"
      "nvidia_drm 70 0 - Live 0x0\n"
      "nvidia_modeset 60 1 nvidia_drm, Live 0x0\n"
      "nvidia_uvm 50 1 [permanent], Live 0x0\n"
      "nvidia 40 3 nvidia_fs,nvidia_uvm,nvidia_modeset, Live 0x0\n"
      "drm 10 1 nvidia_drm, Live 0x0\n";
  EXPECT_THAT(UnloadOrder({"nvidia", "nvidia-uvm", "nvidia-modeset"}, kModules),
              ElementsAre("nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia_fs", "nvidia"));
  EXPECT_THAT(UnloadOrder({"nvidia"}, "a b\nother 1 0 - Live\n"), IsEmpty());
  // What can't be is no loop.
  EXPECT_THAT(UnloadOrder({"a"}, "a 1 1 b, Live\nb 1 1 a, Live\n"), ElementsAre("b", "a"));
}

TEST(WantsFirmwareTest, UnlessItIsSwitchedOff) {
  EXPECT_TRUE(WantsFirmware(""));
  EXPECT_TRUE(WantsFirmware("NVreg_EnableGpuFirmware=01"));
  EXPECT_FALSE(WantsFirmware("a=1 NVreg_EnableGpuFirmware=0"));
}

}  // namespace
}  // namespace gantry::driver
