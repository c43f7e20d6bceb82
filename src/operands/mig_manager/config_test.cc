// SPDX-License-Identifier: Apache-2.0
#include "operands/mig_manager/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace gantry::mig_manager {
namespace {

using ::testing::HasSubstr;

constexpr char kBalanced[] = R"(
version: v1
mig-configs:
  all-disabled:
  - devices: all
    mig-enabled: false
  all-balanced:
  - device-filter: ["0x233010DE", "0x20B210DE:0x147f10de"]
    devices: all
    mig-enabled: true
    mig-devices:
      "1g.10gb": 2
      1c.3g.40gb: 1
  - devices: [1, 2]
    mig-enabled: true
    mig-devices: {}
)";

TEST(ParseConfig, ReadsYaml) {
  const Config config = ParseConfig(kBalanced).value();
  ASSERT_EQ(config.size(), 2U);
  EXPECT_EQ(config.at("all-disabled").at(0), ConfigEntry{});
  const ConfigEntry& balanced = config.at("all-balanced").at(0);
  EXPECT_EQ(balanced.filters,
            (std::vector<DeviceFilter>{{0x233010de, std::nullopt}, {0x20b210de, 0x147f10de}}));
  EXPECT_EQ(balanced.layout.devices,
            (std::map<std::string, unsigned>{{"1g.10gb", 2}, {"1c.3g.40gb", 1}}));
  EXPECT_EQ(config.at("all-balanced").at(1).devices, (std::vector<unsigned>{1, 2}));
  EXPECT_TRUE(config.at("all-balanced").at(1).layout.enabled);
}

TEST(ParseConfig, ReadsJson) {
  const Config config = ParseConfig(R"({"version": "v1", "mig-configs": {"a": [
        {"device-filter": "0x233010DE", "devices": [0], "mig-enabled": true,
         "mig-devices": {"7g.80gb": 1}}]}})")
                            .value();
  EXPECT_EQ(config.at("a").at(0).filters.size(), 1U);
}

std::string Refusal(std::string_view entry) {
  const auto parsed = ParseConfig(format("version: v1\nmig-configs: {{a: [{}]}}", entry));
  return parsed.has_value() ? "" : parsed.error().message;
}

TEST(ParseConfig, AMistakeIsNamedByTheKeysPath) {
  EXPECT_EQ(Refusal("{devices: all, mig-enabled: false}"), "");
  EXPECT_EQ(Refusal("{devices: all, mig-enabled: false, mig-device: {}}"),
            "mig-configs.a[0].mig-device: unknown key; known are device-filter, devices, "
            "mig-enabled, mig-devices");
  EXPECT_EQ(Refusal("{mig-enabled: false}"), "mig-configs.a[0].devices: missing");
  EXPECT_EQ(Refusal("{devices: some, mig-enabled: false}"),
            "mig-configs.a[0].devices: neither \"all\" nor a list of indices of GPUs");
  EXPECT_EQ(Refusal("{devices: [-1], mig-enabled: false}"),
            "mig-configs.a[0].devices: neither \"all\" nor a list of indices of GPUs");
  EXPECT_EQ(Refusal("{devices: all}"), "mig-configs.a[0].mig-enabled: missing");
  EXPECT_EQ(Refusal("{devices: all, mig-enabled: 1}"),
            "mig-configs.a[0].mig-enabled: neither true nor false");
  EXPECT_EQ(Refusal("{devices: all, mig-enabled: true}"),
            "mig-configs.a[0].mig-devices: missing, though mig-enabled is true");
  EXPECT_EQ(Refusal("{devices: all, mig-enabled: false, mig-devices: {1g.5gb: 1}}"),
            "mig-configs.a[0].mig-devices: not empty, though mig-enabled is false");
  EXPECT_EQ(Refusal("{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 0}}"),
            "mig-configs.a[0].mig-devices: all counts are 0");
  EXPECT_EQ(Refusal("{devices: all, mig-enabled: true, mig-devices: {1g.5gb: -1}}"),
            "mig-configs.a[0].mig-devices[\"1g.5gb\"]: the count is not a number from 0 on");
  EXPECT_THAT(Refusal("{devices: all, mig-enabled: true, mig-devices: {1x: 1}}"),
              HasSubstr("mig-configs.a[0].mig-devices: MIG profile \"1x\""));
  EXPECT_THAT(Refusal("{devices: all, mig-enabled: false, device-filter: [0x10DE, H100]}"),
              HasSubstr("mig-configs.a[0].device-filter[1]: \"H100\" is not a PCI id"));
  EXPECT_THAT(Refusal("{devices: all, mig-enabled: false, device-filter: '0x233010DE:'}"),
              HasSubstr("mig-configs.a[0].device-filter: "));
}

TEST(ParseConfig, TheDocumentAroundItIsCheckedToo) {
  const auto refusal = [](std::string_view text) { return ParseConfig(text).error().message; };
  EXPECT_EQ(refusal("mig-configs: {}"), "version: must be v1");
  EXPECT_EQ(refusal("version: v2\nmig-configs: {}"), "version: must be v1");
  EXPECT_EQ(refusal("version: v1"), "mig-configs: must be a map with at least one configuration");
  EXPECT_EQ(refusal("version: v1\nmig-configs: {a: []}"),
            "mig-configs.a: must be a list with at least one entry");
  EXPECT_EQ(refusal("version: v1\nconfigs: {}"),
            "configs: unknown key; known are version, mig-configs");
  EXPECT_EQ(refusal("[]"), "configuration: not a map");
  EXPECT_EQ(refusal(""), "configuration: not a map");
}

nvml::MigGpu Gpu(unsigned index, unsigned device, unsigned subsystem) {
  nvml::MigGpu gpu;
  gpu.index = index;
  gpu.pci_device = device;
  gpu.pci_subsystem = subsystem;
  return gpu;
}

TEST(LayoutsFor, TheLastEntryThatIsAboutAGpuCounts) {
  const Config config = ParseConfig(kBalanced).value();
  const std::vector<nvml::MigGpu> gpus = {Gpu(0, 0x20b210de, 0x147f10de), Gpu(1, 0x233010de, 1),
                                          Gpu(2, 0x1eb810de, 1), Gpu(3, 0x20b210de, 0x99),
                                          Gpu(4, 0x233010de, 1)};
  const auto layouts = LayoutsFor(config, "all-balanced", gpus).value();
  EXPECT_EQ(layouts[0]->devices.size(), 2U);
  EXPECT_TRUE(layouts[1]->devices.empty());  // by its index
  EXPECT_TRUE(layouts[2]->devices.empty());
  EXPECT_FALSE(layouts[3].has_value());
  EXPECT_EQ(layouts[4]->devices.size(), 2U);
}

TEST(LayoutsFor, AConfigurationThatIsAboutNoGpuIsRefused) {
  const Config config = ParseConfig(
                            "version: v1\nmig-configs: {a: [{device-filter: 0x233010DE, devices: "
                            "all, mig-enabled: false}]}")
                            .value();
  const std::vector<nvml::MigGpu> gpus = {Gpu(0, 0x20b210de, 0x147f10de)};
  EXPECT_EQ(LayoutsFor(config, "a", gpus).error().message,
            "mig-configs.a: no entry is about a GPU of this node: GPU 0 is 0x20B210DE:0x147F10DE");
  EXPECT_EQ(LayoutsFor(config, "", {}).error().message,
            "mig-configs.a: no entry is about a GPU of this node: there are no GPUs");
}

TEST(SelectConfig, TheOnlyOneNeedsNoName) {
  const Config two = ParseConfig(kBalanced).value();
  EXPECT_EQ(SelectConfig(two, "all-disabled").value(), "all-disabled");
  EXPECT_EQ(SelectConfig(two, "").error().message,
            "no configuration selected; there are all-balanced, all-disabled");
  EXPECT_EQ(SelectConfig(two, "all-1g").error().message,
            "mig-configs.all-1g: no such configuration; there are all-balanced, all-disabled");
  EXPECT_EQ(SelectConfig({{"one", {}}}, "").value(), "one");
}

}  // namespace
}  // namespace gantry::mig_manager
