// SPDX-License-Identifier: Apache-2.0
#include "policy/plugin_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::policy {
namespace {

using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PluginConfig Parsed(std::string_view text) {
  Result<PluginConfig> config = ParsePluginConfig(text);
  EXPECT_TRUE(config.has_value()) << config.error().message;
  return config.value_or(PluginConfig{});
}

TEST(PluginConfig, EmptyTextIsTheEmptyConfiguration) {
  for (const char* text : {"", "\n", "{}", "version: v1\n", "sharing:\n", "# nothing\n"}) {
    const PluginConfig config = Parsed(text);
    EXPECT_EQ(config.sharing.strategy, SharingStrategy::kNone);
    EXPECT_EQ(config.sharing.ReplicasOf("nvidia.com/gpu"), 1);
    EXPECT_FALSE(config.flags.mig_strategy.has_value());
    EXPECT_THAT(config.warnings, IsEmpty());
  }
}

TEST(PluginConfig, TimeSlicing) {
  const PluginConfig config = Parsed(R"(
version: v1
sharing:
  timeSlicing:
    renameByDefault: true
    resources:
    - name: gpu
      replicas: 4
    - name: nvidia.com/mig-1g.5gb
      replicas: 2
      devices: all
)");
  EXPECT_EQ(config.sharing.strategy, SharingStrategy::kTimeSlicing);
  EXPECT_FALSE(config.sharing.fail_requests_greater_than_one);
  EXPECT_EQ(config.sharing.ReplicasOf("nvidia.com/gpu"), 4);
  EXPECT_EQ(config.sharing.OfferedName("nvidia.com/gpu"), "nvidia.com/gpu.shared");
  EXPECT_EQ(config.sharing.ReplicasOf("nvidia.com/mig-1g.5gb"), 2);
  EXPECT_EQ(config.sharing.OfferedName("nvidia.com/mig-2g.10gb"), "nvidia.com/mig-2g.10gb");
  EXPECT_THAT(config.warnings, IsEmpty());
}

TEST(PluginConfig, MpsWinsAndRefusesRequestsAboveOneByDefault) {
  const PluginConfig config = Parsed(R"({"sharing": {
    "timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]},
    "mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": 10}]}}})");
  EXPECT_EQ(config.sharing.strategy, SharingStrategy::kMps);
  EXPECT_TRUE(config.sharing.fail_requests_greater_than_one);
  EXPECT_EQ(config.sharing.ReplicasOf("nvidia.com/gpu"), 10);
  EXPECT_THAT(config.warnings, ElementsAre(HasSubstr("sharing.timeSlicing: has no effect")));
}

TEST(PluginConfig, Flags) {
  const PluginConfig config = Parsed(R"(
flags:
  migStrategy: mixed
  failOnInitError: false
  nvidiaDriverRoot: /run/nvidia/driver
  plugin:
    passDeviceSpecs: true
    deviceListStrategy: [cdi-annotations, cdi-cri]
    deviceIDStrategy: index
  gfd:
    sleepInterval: 1m30s
    noTimestamp: true
imex:
  channelIDs: [0]
)");
  EXPECT_EQ(config.flags.mig_strategy, MigStrategy::kMixed);
  EXPECT_EQ(config.flags.fail_on_init_error, false);
  EXPECT_EQ(config.flags.driver_root, "/run/nvidia/driver");
  EXPECT_EQ(config.flags.pass_device_specs, true);
  EXPECT_THAT(*config.flags.device_list_strategy, ElementsAre("cdi-annotations", "cdi-cri"));
  EXPECT_EQ(config.flags.device_id_strategy, "index");
  EXPECT_EQ(config.flags.gfd.sleep_interval, std::chrono::seconds(90));
  EXPECT_EQ(config.flags.gfd.no_timestamp, true);
  EXPECT_THAT(config.imex_channel_ids, ElementsAre(0));
  EXPECT_THAT(*Parsed("flags: {plugin: {deviceListStrategy: \"envvar,volume-mounts\"}}")
                   .flags.device_list_strategy,
              ElementsAre("envvar", "volume-mounts"));
}

TEST(PluginConfig, WhatHasNoEffectIsAcceptedWithAWarning) {
  const PluginConfig config = Parsed(R"(
resources:
  gpus: [{pattern: "*", name: gpu}]
sharing:
  timeSlicing:
    resources:
    - {name: gpu, replicas: 2, rename: gpu.mine}
    - {name: nvidia.com/gpus, replicas: 2}
    - {name: mig-1g.5gb, replicas: 2}
)");
  EXPECT_THAT(config.warnings,
              ElementsAre(HasSubstr("resources: has no effect"),
                          HasSubstr("sharing.timeSlicing.resources[1].name: has no effect"),
                          HasSubstr("sharing.timeSlicing.resources[0].rename: has no effect")));
  EXPECT_EQ(config.sharing.OfferedName("nvidia.com/gpu"), "nvidia.com/gpu");
}

// kdp#1433: two keys of sharing.timeSlicing stand among the flags, where upstream passes over them.
TEST(PluginConfig, Kdp1433AnUnknownKeyIsPassedOverWithAWarning) {
  const PluginConfig config = Parsed(R"(
version: v1
flags:
  migStrategy: none
  renameByDefault: true
  failRequestsGreaterThanOne: false
  plugin: {passDeviceSpec: true}
sharing:
  timeSlicing:
    resources:
    - {name: nvidia.com/gpu, replicas: 16384, replica: 3}
health: {xid: {}}
sharin: {}
? [a]
: b
)");
  EXPECT_EQ(config.sharing.ReplicasOf("nvidia.com/gpu"), 16384);
  EXPECT_EQ(config.sharing.OfferedName("nvidia.com/gpu"), "nvidia.com/gpu");
  EXPECT_THAT(config.warnings,
              ElementsAre("flags.renameByDefault: unknown key, has no effect",
                          "flags.failRequestsGreaterThanOne: unknown key, has no effect",
                          "flags.plugin.passDeviceSpec: unknown key, has no effect",
                          "sharing.timeSlicing.resources[0].replica: unknown key, has no effect",
                          "health.xid: unknown key, has no effect",
                          "sharin: unknown key, has no effect", "?: unknown key, has no effect"));
}

TEST(PluginConfig, UpperAndLowerCaseOfAKeyAreOne) {
  const PluginConfig config = Parsed(
      "{Version: v1, SHARING: {timeslicing: {RenameByDefault: true, resources: [{Name: gpu, "
      "replicas: 4}]}}}");
  EXPECT_EQ(config.sharing.ReplicasOf("nvidia.com/gpu"), 4);
  EXPECT_TRUE(config.sharing.rename_by_default);
  EXPECT_THAT(config.warnings, IsEmpty());
}

TEST(PluginConfig, WhatAMapMergesStandsBelowItsOwn) {
  const PluginConfig config = Parsed(R"(
sharing:
  timeSlicing:
    resources:
    - &four {name: gpu, replicas: 4}
    - {<<: *four, name: mig-1g.5gb}
)");
  EXPECT_EQ(config.sharing.ReplicasOf("nvidia.com/mig-1g.5gb"), 4);
  const PluginConfig nested = Parsed(R"(
x: &x {migStrategy: single, FailOnInitError: false, gdsEnabled: true}
y: &y {<<: *x, gdsEnabled: false, mofedEnabled: true}
flags: {<<: [*y, {mofedEnabled: false}], migStrategy: mixed, failOnInitError: null}
)");
  EXPECT_EQ(nested.flags.mig_strategy, MigStrategy::kMixed);
  EXPECT_FALSE(nested.flags.fail_on_init_error.has_value()) << "its own null stands above";
  EXPECT_EQ(nested.flags.gds_enabled, false);
  EXPECT_EQ(nested.flags.mofed_enabled, true);
}

TEST(PluginConfig, NumbersAreWrittenInMoreThanOneWay) {
  const PluginConfig config = Parsed(R"(
flags: {gfd: {sleepInterval: 6e10}}
sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4.0, devices: 2.0}]}}
)");
  EXPECT_EQ(config.flags.gfd.sleep_interval, std::chrono::seconds(60));
  EXPECT_EQ(config.sharing.ReplicasOf("nvidia.com/gpu"), 4);
  EXPECT_EQ(config.sharing.resources[0].devices.count, 2);
}

TEST(PluginConfig, AResourceMayBeSharedTwiceByTimeSlicing) {
  const PluginConfig config = Parsed(R"(
sharing:
  timeSlicing:
    resources:
    - {name: gpu, replicas: 2, devices: [0]}
    - {name: nvidia.com/gpu, replicas: 4, devices: []}
)");
  EXPECT_EQ(config.sharing.resources.size(), 2U);
  EXPECT_EQ(config.sharing.ReplicasOf("nvidia.com/gpu"), 4);
  EXPECT_TRUE(config.sharing.resources[1].devices.all());
  EXPECT_THAT(config.warnings,
              ElementsAre(HasSubstr("resources[1].devices: names none, so all are shared"),
                          HasSubstr("resources[1].name: nvidia.com/gpu occurs twice")));
}

// kdp#628: which GPUs are shared is said and counts.
TEST(PluginConfig, SharedDevicesByIndexUuidAndNumber) {
  const PluginConfig config = Parsed(R"(
sharing:
  timeSlicing:
    resources:
    - {name: gpu, replicas: 2, devices: [0, "1:0", GPU-2f4c-77, MIG-GPU-2f4c/3/0]}
    - {name: mig-1g.5gb, replicas: 3, devices: 2}
    - {name: mig-2g.10gb, replicas: 4, devices: all}
)");
  const auto& resources = config.sharing.resources;
  EXPECT_THAT(resources[0].devices.list,
              ElementsAre("0", "1:0", "GPU-2f4c-77", "MIG-GPU-2f4c/3/0"));
  EXPECT_FALSE(resources[0].devices.all());
  EXPECT_EQ(resources[1].devices.count, 2);
  EXPECT_TRUE(resources[2].devices.all());
  EXPECT_THAT(config.warnings, IsEmpty());
}

TEST(PluginConfig, XidRules) {
  const PluginConfig config =
      Parsed("health: {xids: {ignore: [74, 94], suspect: [48], unhealthy: [13]}}");
  EXPECT_EQ(config.xids, (XidRules{.ignore = {74, 94}, .suspect = {48}, .unhealthy = {13}}));
}

struct Bad {
  const char* text;
  const char* message;
};

class Refused : public testing::TestWithParam<Bad> {};

TEST_P(Refused, NamesTheKey) {
  const Result<PluginConfig> config = ParsePluginConfig(GetParam().text);
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(config.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Text, Refused,
    testing::Values(
        Bad{"version: v2", "version: must be v1"},
        Bad{"sharing: {timeslicing: {}}", "sharing.timeslicing.resources: must name"},
        Bad{"sharing: {timeSlicing: {resources: [{name: gpu, replica: 4}]}}",
            "sharing.timeSlicing.resources[0].replicas: is required"},
        Bad{"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 0}]}}",
            "sharing.timeSlicing.resources[0].replicas: must be at least 2, is 0"},
        Bad{"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 1}]}}",
            "replicas: must be at least 2, is 1"},
        Bad{"sharing: {timeSlicing: {resources: [{name: gpu, replicas: four}]}}",
            "replicas: must be a whole number"},
        Bad{"sharing: {timeSlicing: {resources: [{name: gpu, replicas: \"4\"}]}}",
            "replicas: must be a whole number"},
        Bad{"sharing: {timeSlicing: {resources: [{name: gpu}]}}", "replicas: is required"},
        Bad{"sharing: {timeSlicing: {resources: [{replicas: 2}]}}", "name: is required"},
        Bad{"sharing: {timeSlicing: {resources: [{name: amd.com/gpu, replicas: 2}]}}",
            "resources[0].name: \"nvidia.com/amd.com/gpu\""},
        Bad{"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4.5}]}}",
            "replicas: must be a whole number"},
        Bad{"sharing: {mps: {resources: [{name: gpu, replicas: 2}, {name: nvidia.com/gpu, "
            "replicas: 3}]}}",
            "resources[1].name: nvidia.com/gpu occurs twice"},
        Bad{"sharing: {timeSlicing: {resources: []}}", "resources: must name at least one"},
        Bad{"sharing: {mps: {renameByDefault: true}}", "sharing.mps.resources: must name"},
        Bad{"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: 0}]}}",
            "devices: must be all"},
        Bad{"sharing: [1]", "sharing: must be a map"},
        Bad{"just text", "configuration: must be a map"},
        Bad{"flags: {migStrategy: tripel}", "flags.migStrategy: must be one of"},
        Bad{"flags: {failOnInitError: perhaps}", "flags.failOnInitError: must be true or false"},
        Bad{"flags: {plugin: {deviceListStrategy: cdi}}", "flags.plugin.deviceListStrategy:"},
        Bad{"flags: {gfd: {sleepInterval: soon}}", "flags.gfd.sleepInterval: \"soon\""},
        Bad{"flags: {gfd: {sleepInterval: 1e30}}", "flags.gfd.sleepInterval: \"1e30\""},
        Bad{"imex: {channelIDs: [1]}", "imex.channelIDs: must be [] or [0]"},
        Bad{"resources: {gpus: [{name: gpu}]}", "resources.gpus[0].pattern: is required"},
        Bad{"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: [-1]}]}}",
            "devices: must be all"},
        Bad{"health: {xids: {ignore: [13], unhealthy: [13]}}",
            "health.xids.unhealthy: 13 occurs twice"},
        Bad{"health: {xids: {ignore: [0]}}", "health.xids.ignore: 0 is no XID"},
        Bad{"version: v1\nVersion: v1", "Version: occurs twice"},
        Bad{"flags: {<<: 1}", "flags.<<: must be a map or a list of maps"},
        Bad{"flags: &f {<<: [*f, *f]}", "merges more than 64 maps"},
        Bad{"sharing: {timeSlicing", "line 1, column"}, Bad{"a: b: c", "line 1, column"}));

TEST(Duration, IsGos) {
  EXPECT_EQ(ParseDuration("60s"), std::chrono::seconds(60));
  EXPECT_EQ(ParseDuration("1h15m30.5s"), std::chrono::milliseconds(4530500));
  EXPECT_EQ(ParseDuration("-2ms"), std::chrono::milliseconds(-2));
  EXPECT_EQ(ParseDuration("0"), nanoseconds(0));
  EXPECT_EQ(ParseDuration("1500"), nanoseconds(1500));
  EXPECT_EQ(ParseDuration("infinite"), nanoseconds::max());
  for (const char* wrong : {"", "s", "1x", "1s ", "--1s", "1.5", "999999999h", "s1"}) {
    EXPECT_FALSE(ParseDuration(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace gantry::policy
