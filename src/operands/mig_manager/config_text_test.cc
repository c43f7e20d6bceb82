// SPDX-License-Identifier: Apache-2.0
#include "operands/mig_manager/config_text.h"

#include <gtest/gtest.h>

#include "gpu/testing/mig_boards.h"

namespace gantry::mig_manager {
namespace {

using gpu::testing::A100;
using gpu::testing::RtxPro6000;

nvml::MigGpu At(nvml::MigGpu gpu, unsigned index, unsigned device) {
  gpu.index = index;
  gpu.pci_device = device;
  return gpu;
}

nvml::MigGpu Divided(nvml::MigGpu gpu) {
  gpu.instances = {{.id = 1, .profile_id = 9, .start = 0, .size = 4, .compute = {{0, 1}, {1, 1}}},
                   {.id = 2, .profile_id = 9, .start = 4, .size = 4, .compute = {{0, 3}}}};
  return gpu;
}

TEST(ExportConfig, EqualGpusShareAnEntry) {
  const std::vector<nvml::MigGpu> gpus = {At(Divided(A100()), 0, 0x20b010de),
                                          At(Divided(A100()), 1, 0x20b010de)};
  EXPECT_EQ(ConfigText(ExportConfig(gpus, "current"), ConfigFormat::kYaml),
            "version: v1\n"
            "mig-configs:\n"
            "  current:\n"
            "  - devices: all\n"
            "    mig-enabled: true\n"
            "    mig-devices:\n"
            "      \"1c.3g.20gb\": 2\n"
            "      \"3g.20gb\": 1\n");
}

TEST(ExportConfig, OthersAreNamedByIndexOrKind) {
  nvml::MigGpu plain;
  const std::vector<nvml::MigGpu> gpus = {At(Divided(A100()), 0, 0x20b010de),
                                          At(A100(), 1, 0x20b010de), At(plain, 2, 0x1eb810de)};
  EXPECT_EQ(ConfigText(ExportConfig(gpus, "x"), ConfigFormat::kYaml),
            "version: v1\n"
            "mig-configs:\n"
            "  x:\n"
            "  - device-filter: [\"0x20B010DE\"]\n"
            "    devices: [0]\n"
            "    mig-enabled: true\n"
            "    mig-devices:\n"
            "      \"1c.3g.20gb\": 2\n"
            "      \"3g.20gb\": 1\n"
            "  - device-filter: [\"0x20B010DE\"]\n"
            "    devices: [1]\n"
            "    mig-enabled: true\n"
            "    mig-devices: {}\n"
            "  - device-filter: [\"0x1EB810DE\"]\n"
            "    devices: all\n"
            "    mig-enabled: false\n"
            "    mig-devices: {}\n");
}

TEST(ConfigText, IsReadBackInBothFormats) {
  const std::vector<nvml::MigGpu> gpus = {At(A100(), 0, 0x20b010de),
                                          At(RtxPro6000(), 1, 0x2bb510de)};
  const Config config = GenerateConfig(gpus).value();
  EXPECT_EQ(ParseConfig(ConfigText(config, ConfigFormat::kYaml)).value(), config);
  EXPECT_EQ(ParseConfig(ConfigText(config, ConfigFormat::kJson)).value(), config);
  EXPECT_EQ(ParseConfigFormat("json").value(), ConfigFormat::kJson);
  EXPECT_FALSE(ParseConfigFormat("toml").has_value());
}

TEST(GenerateConfig, HasEachProfileAsOftenAsItFits) {
  const std::vector<nvml::MigGpu> gpus = {At(A100(), 0, 1), At(A100(), 1, 1)};
  const Config config = GenerateConfig(gpus).value();
  EXPECT_EQ(config.size(), 3U + 7U);
  EXPECT_EQ(config.at("all-disabled"), std::vector{ConfigEntry()});
  EXPECT_EQ(config.at("all-1g.5gb.me").at(0).layout.devices,
            (std::map<std::string, unsigned>{{"1g.5gb+me", 1}}));
  EXPECT_TRUE(config.at("all-1g.5gb").at(0).filters.empty());
  EXPECT_EQ(config.at("all-balanced").at(0).layout.devices,
            (std::map<std::string, unsigned>{{"1g.5gb", 2}, {"2g.10gb", 1}, {"3g.20gb", 1}}));
}

TEST(GenerateConfig, SeveralKindsOfGpusAreToldApart) {
  const std::vector<nvml::MigGpu> gpus = {At(A100(), 0, 0x20b010de),
                                          At(RtxPro6000(), 1, 0x2bb510de),
                                          At(nvml::MigGpu(), 2, 0x1eb810de)};
  const Config config = GenerateConfig(gpus).value();
  EXPECT_TRUE(config.at("all-disabled").at(0).filters.empty());
  EXPECT_EQ(config.at("all-enabled").at(0).filters.size(), 2U);
  EXPECT_EQ(config.at("all-balanced").size(), 2U);
  EXPECT_EQ(config.at("all-balanced").at(1).layout.devices,
            (std::map<std::string, unsigned>{{"1g.24gb", 2}, {"2g.48gb", 1}}));
  EXPECT_EQ(config.at("all-1g.24gb-me").at(0).filters.at(0).device, 0x2bb510deU);
}

TEST(GenerateConfig, WithoutProfilesThereIsNone) {
  EXPECT_EQ(GenerateConfig({}).error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace gantry::mig_manager
