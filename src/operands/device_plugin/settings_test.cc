// SPDX-License-Identifier: Apache-2.0
// Precedence of command line, environment, file, driver-ready and defaults; what is refused.
#include "operands/device_plugin/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace gantry::device_plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Arguments Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "nvidia-device-plugin");
  auto parsed = ParseArguments(static_cast<int>(words.size()), words.data());
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed->value();
}

Settings Decided(const Arguments& arguments, std::string_view config = "",
                 const DriverRoots& roots = {}) {
  auto settings = Decide(arguments, policy::ParsePluginConfig(config).value(), roots);
  EXPECT_TRUE(settings) << (settings ? "" : settings.error().message);
  return *settings;
}

std::string Refusal(const Arguments& arguments, std::string_view config = "") {
  const auto settings = Decide(arguments, policy::ParsePluginConfig(config).value(), {});
  return settings ? "accepted" : settings.error().message;
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(Settings, Defaults) {
  const auto arguments = Parse({});
  EXPECT_EQ(arguments.kubelet_socket, "/var/lib/kubelet/device-plugins/kubelet.sock");
  EXPECT_EQ(arguments.node_label, "nvidia.com/device-plugin.config");
  const auto settings = Decided(arguments);
  EXPECT_TRUE(settings.fail_on_init_error);
  EXPECT_FALSE(settings.pass_device_specs);
  EXPECT_THAT(settings.list_strategies, ElementsAre(ListStrategy::kEnvVar));
  EXPECT_FALSE(settings.uses_cdi());
  EXPECT_EQ(settings.id_strategy, IdStrategy::kUuid);
  EXPECT_EQ(settings.shared_policy, SharedPolicy::kDistributed);
  EXPECT_EQ(settings.cdi_annotation_prefix, "cdi.k8s.io/");
  EXPECT_EQ(settings.cdi_hook_path, "/usr/bin/nvidia-ctk");
  EXPECT_EQ(settings.driver, (DriverRoots{"/", "/driver-root", "/", "/driver-root"}));
}

TEST(Settings, CommandLineBeatsEnvironmentBeatsFile) {
  constexpr char kFile[] = "flags: {failOnInitError: false, plugin: {deviceIDStrategy: index}}";
  EXPECT_EQ(Decided(Parse({}), kFile).id_strategy, IdStrategy::kIndex);
  EXPECT_FALSE(Decided(Parse({}), kFile).fail_on_init_error);
  const Variable strategy("DEVICE_ID_STRATEGY", "uuid");
  const Variable fail("FAIL_ON_INIT_ERROR", "T");
  EXPECT_EQ(Decided(Parse({}), kFile).id_strategy, IdStrategy::kUuid);
  EXPECT_TRUE(Decided(Parse({}), kFile).fail_on_init_error);
  const auto arguments = Parse({"--device-id-strategy", "index", "--fail-on-init-error=false"});
  EXPECT_EQ(Decided(arguments, kFile).id_strategy, IdStrategy::kIndex);
  EXPECT_FALSE(Decided(arguments, kFile).fail_on_init_error);
}

TEST(Settings, AnEmptyVariableCountsAsUnset) {
  const Variable strategy("DEVICE_LIST_STRATEGY", "");
  const Variable policy("SHARED_DEVICES_ALLOCATION_POLICY", "");
  const Variable mig("MIG_STRATEGY", "");
  EXPECT_THAT(Decided(Parse({})).list_strategies, ElementsAre(ListStrategy::kEnvVar));
  EXPECT_EQ(
      Decided(Parse({}), "flags: {plugin: {sharedDevicesAllocationPolicy: packed}}").shared_policy,
      SharedPolicy::kPacked);
}

TEST(Settings, AliasesAndLists) {
  const Variable list("DEVICE_LIST_STRATEGY", "cdi-annotations,cdi-cri");
  const Variable root("CONTAINER_DRIVER_ROOT", "/here");
  const Variable hook("NVIDIA_CTK_PATH", "/usr/local/nvidia/toolkit/nvidia-ctk");
  const auto settings = Decided(Parse({"--pass-device-specs"}));
  EXPECT_TRUE(settings.uses_cdi());
  EXPECT_TRUE(settings.pass_device_specs);
  EXPECT_THAT(settings.list_strategies,
              ElementsAre(ListStrategy::kCdiAnnotations, ListStrategy::kCdiCri));
  EXPECT_EQ(settings.driver.root_here, "/here");
  EXPECT_EQ(settings.cdi_hook_path, "/usr/local/nvidia/toolkit/nvidia-ctk");
}

TEST(Settings, TheDriverIsWhereDriverReadySaysUnlessAFlagSaysOtherwise) {
  const auto found = RootsFrom({{"IS_HOST_DRIVER", "false"},
                                {"NVIDIA_DRIVER_ROOT", "/run/nvidia/driver"},
                                {"DRIVER_ROOT_CTR_PATH", "/driver-root"},
                                {"NVIDIA_DEV_ROOT", "/"},
                                {"DEV_ROOT_CTR_PATH", "/host"}});
  EXPECT_EQ(found, (DriverRoots{"/run/nvidia/driver", "/driver-root", "/", "/host"}));
  EXPECT_EQ(Decided(Parse({}), "", found).driver, found);
  EXPECT_EQ(Decided(Parse({"--driver-root=/opt", "--driver-root-ctr-path=/x"}), "", found).driver,
            (DriverRoots{"/opt", "/x", "/opt", "/x"}));
  EXPECT_EQ(Decided(Parse({"--dev-root=/d"}), "", found).driver,
            (DriverRoots{"/run/nvidia/driver", "/driver-root", "/d", "/driver-root"}));
}

TEST(Settings, TimeSlicingIsTakenOver) {
  const auto settings = Decided(
      Parse({}), "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}");
  EXPECT_EQ(settings.sharing.ReplicasOf("nvidia.com/gpu"), 4);
}

TEST(Settings, RefusalsNameTheFlagOrKey) {
  EXPECT_THAT(Refusal(Parse({"--device-list-strategy=cdi"})),
              HasSubstr("device-list-strategy: unknown value 'cdi' (one of envvar, volume-mounts"));
  EXPECT_THAT(Refusal(Parse({"--device-id-strategy=name"})), HasSubstr("device-id-strategy"));
  EXPECT_THAT(Refusal(Parse({"--mig-strategy=tripel"})), HasSubstr("mig-strategy"));
  EXPECT_THAT(Refusal(Parse({"--shared-devices-allocation-policy=x"})),
              HasSubstr("shared-devices-allocation-policy"));
  EXPECT_THAT(Refusal(Parse({"--device-discovery-strategy=x"})),
              HasSubstr("device-discovery-strategy"));
  EXPECT_THAT(Refusal(Parse({"--device-discovery-strategy=tegra"})), HasSubstr("Tegra"));
  EXPECT_THAT(Refusal(Parse({"--imex-channel-ids=0,1"})), HasSubstr("imex-channel-ids"));
  EXPECT_THAT(Refusal(Parse({"--imex-channel-ids=0", "--imex-required"})),
              HasSubstr("imex-required"));
  EXPECT_THAT(
      Refusal(Parse({}), "sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}"),
      HasSubstr("sharing.mps"));
}

TEST(Arguments, WhatNobodyKnowsIsRefused) {
  const std::array words = {"nvidia-device-plugin", "--no-such-flag"};
  const auto parsed = ParseArguments(2, words.data());
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message, HasSubstr("--no-such-flag"));
  const std::array wrong = {"nvidia-device-plugin", "--pass-device-specs=maybe"};
  const auto refused = ParseArguments(2, wrong.data());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--pass-device-specs"));
}

}  // namespace
}  // namespace gantry::device_plugin
