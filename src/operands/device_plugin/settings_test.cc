// SPDX-License-Identifier: Apache-2.0
// Precedence of command line, environment, file, driver-ready and defaults; what is refused.
#include "operands/device_plugin/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "base/testing/variables.h"
#include "base/text.h"

namespace gantry::device_plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Flags Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "nvidia-device-plugin");
  auto parsed = ParseFlags(static_cast<int>(words.size()), words.data());
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return parsed->value();
}

Settings Decided(const Flags& flags, std::string_view config = "", const Found& found = {}) {
  auto settings = Decide(flags, policy::ParsePluginConfig(config).value(), found);
  EXPECT_TRUE(settings) << (settings ? "" : settings.error().message);
  return *settings;
}

std::string Refusal(const Flags& flags, std::string_view config = "") {
  const auto settings = Decide(flags, policy::ParsePluginConfig(config).value(), {});
  return settings ? "accepted" : settings.error().message;
}

TEST(Settings, Defaults) {
  const auto flags = Parse({});
  EXPECT_EQ(flags.kubelet_socket, "/var/lib/kubelet/device-plugins/kubelet.sock");
  EXPECT_EQ(flags.node_label, "nvidia.com/device-plugin.config");
  const auto settings = Decided(flags);
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
  const Variables strategy({{"DEVICE_ID_STRATEGY", "uuid"}});
  const Variables fail({{"FAIL_ON_INIT_ERROR", "T"}});
  EXPECT_EQ(Decided(Parse({}), kFile).id_strategy, IdStrategy::kUuid);
  EXPECT_TRUE(Decided(Parse({}), kFile).fail_on_init_error);
  const auto flags = Parse({"--device-id-strategy", "index", "--fail-on-init-error=false"});
  EXPECT_EQ(Decided(flags, kFile).id_strategy, IdStrategy::kIndex);
  EXPECT_FALSE(Decided(flags, kFile).fail_on_init_error);
}

TEST(Settings, AnEmptyVariableCountsAsUnset) {
  const Variables strategy({{"DEVICE_LIST_STRATEGY", ""}});
  const Variables policy({{"SHARED_DEVICES_ALLOCATION_POLICY", ""}});
  const Variables mig({{"MIG_STRATEGY", ""}});
  EXPECT_THAT(Decided(Parse({})).list_strategies, ElementsAre(ListStrategy::kEnvVar));
  EXPECT_EQ(
      Decided(Parse({}), "flags: {plugin: {sharedDevicesAllocationPolicy: packed}}").shared_policy,
      SharedPolicy::kPacked);
}

TEST(Settings, AliasesAndLists) {
  const Variables list({{"DEVICE_LIST_STRATEGY", "cdi-annotations, cdi-cri "}});
  const Variables hooks({{"CDI_DISABLE_HOOKS", "a, b"}});
  const Variables fallbacks({{"FALLBACK_STRATEGIES", "named, single"}});
  const Variables channels({{"IMEX_CHANNEL_IDS", " 0"}});
  const Variables root({{"CONTAINER_DRIVER_ROOT", "/here"}});
  const Variables hook({{"NVIDIA_CTK_PATH", "/usr/local/nvidia/toolkit/nvidia-ctk"}});
  const auto settings = Decided(Parse({"--pass-device-specs"}));
  EXPECT_TRUE(settings.uses_cdi());
  EXPECT_TRUE(settings.pass_device_specs);
  EXPECT_THAT(settings.list_strategies,
              ElementsAre(ListStrategy::kCdiAnnotations, ListStrategy::kCdiCri));
  EXPECT_THAT(settings.disabled_hooks, ElementsAre("a", "b"));
  EXPECT_THAT(Parse({}).fallback_strategies, ElementsAre("named", "single"));
  EXPECT_THAT(settings.imex_channels, ElementsAre(0));
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
  const auto driver = [](const std::vector<const char*>& words, std::string_view config,
                         const DriverRoots& ready) {
    return Decided(Parse(words), config, {.driver = ready, .modes = {}}).driver;
  };
  EXPECT_EQ(driver({}, "", found), found);
  EXPECT_EQ(driver({"--driver-root=/opt", "--driver-root-ctr-path=/x"}, "", found),
            (DriverRoots{"/opt", "/x", "/opt", "/x"}));
  EXPECT_EQ(driver({"--dev-root=/d"}, "", found),
            (DriverRoots{"/run/nvidia/driver", "/driver-root", "/d", "/driver-root"}));
  // Of the example in the README of NVIDIA's plugin, with a driver in a container.
  constexpr char kFile[] =
      "flags: {nvidiaDriverRoot: /, nvidiaDevRoot: /f, plugin: {containerDriverRoot: /g}}";
  EXPECT_EQ(driver({}, kFile, found), found);
  EXPECT_EQ(driver({}, kFile, {}), (DriverRoots{"/", "/g", "/f", "/g"}));
  EXPECT_EQ(driver({"--driver-root=/opt"}, kFile, found),
            (DriverRoots{"/opt", "/driver-root", "/f", "/driver-root"}));
}

TEST(Settings, LoadedKernelModulesStandBelowTheFlagsAndAboveTheFile) {
  const auto modules = [](std::string_view text) { return ModesOf(host::ParseModules(text)); };
  EXPECT_THAT(modules("gdrdrv 28672 0 - Live 0x0\nnvidia 54 2 gdrdrv, Live 0x0\n"),
              ElementsAre("gdrcopy"));
  EXPECT_THAT(modules("nvidia_fs 311296 0 - Live 0x0\n"), ElementsAre("gds", "mofed"));
  const Found found{.driver = {}, .modes = {"gdrcopy", "gds", "mofed"}};
  EXPECT_THAT(Decided(Parse({}), "flags: {gdsEnabled: false}", found).modes,
              ElementsAre("gdrcopy", "gds", "mofed"));
  const Variables gds({{"GDS_ENABLED", "false"}});
  const Variables mofed({{"MOFED_ENABLED", ""}});
  EXPECT_THAT(Decided(Parse({"--gdrcopy-enabled=false"}), "", found).modes, ElementsAre("mofed"));
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
  EXPECT_THAT(Refusal(Parse({"--imex-channel-ids=0,1"})), HasSubstr("imex-channel-ids"));
  EXPECT_THAT(Refusal(Parse({"--device-discovery-strategy=vfio"})),
              HasSubstr("device-discovery-strategy"));
  constexpr char kMps[] = "sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}";
  EXPECT_THAT(Refusal(Parse({}), kMps), HasSubstr("mps-root: must be set"));
  EXPECT_THAT(Refusal(Parse({"--mps-root=/run/nvidia/mps", "--mig-strategy=mixed"}), kMps),
              HasSubstr("sharing.mps: can't be had with the MIG strategy mixed"));
}

// All of a configuration's effect in one line, to compare by.
std::string Line(const Settings& settings) {
  std::string line = format(
      "mig={} fail={} root={} dev={} here={} specs={} id={} prefix={} hook={} mps={} policy={} "
      "imex={}/{} hooks={} lists=",
      policy::Name(settings.mig_strategy), settings.fail_on_init_error, settings.driver.root,
      settings.driver.dev_root, settings.driver.root_here, settings.pass_device_specs,
      static_cast<int>(settings.id_strategy), settings.cdi_annotation_prefix,
      settings.cdi_hook_path, settings.mps_root, static_cast<int>(settings.shared_policy),
      settings.imex_channels.size(), settings.imex_required, Join(settings.disabled_hooks, "+"));
  for (const auto strategy : settings.list_strategies) {
    line += format("{} ", static_cast<int>(strategy));
  }
  return line + Join({settings.modes.begin(), settings.modes.end()}, "+");
}

// Flag, variable and key say the same; the names are NVIDIA's.
TEST(Settings, EveryFlagIsAVariableAndAKeyToo) {
  struct Row {
    const char* flag;
    const char* variable;
    const char* value;
    const char* file;  // empty: no key
  };
  const std::vector<Row> rows = {
      {"--mig-strategy", "MIG_STRATEGY", "mixed", "flags: {migStrategy: mixed}"},
      {"--fail-on-init-error", "FAIL_ON_INIT_ERROR", "F", "flags: {failOnInitError: false}"},
      {"--driver-root", "NVIDIA_DRIVER_ROOT", "/d", "flags: {nvidiaDriverRoot: /d}"},
      {"--nvidia-driver-root", "NVIDIA_DRIVER_ROOT", "/d", "flags: {nvidiaDriverRoot: /d}"},
      {"--dev-root", "NVIDIA_DEV_ROOT", "/d", "flags: {nvidiaDevRoot: /d}"},
      {"--nvidia-dev-root", "NVIDIA_DEV_ROOT", "/d", "flags: {nvidiaDevRoot: /d}"},
      {"--pass-device-specs", "PASS_DEVICE_SPECS", "1", "flags: {plugin: {passDeviceSpecs: true}}"},
      {"--device-list-strategy", "DEVICE_LIST_STRATEGY", "volume-mounts,cdi-cri",
       "flags: {plugin: {deviceListStrategy: [volume-mounts, cdi-cri]}}"},
      {"--device-id-strategy", "DEVICE_ID_STRATEGY", "index",
       "flags: {plugin: {deviceIDStrategy: index}}"},
      {"--gdrcopy-enabled", "GDRCOPY_ENABLED", "true", "flags: {gdrcopyEnabled: true}"},
      {"--gds-enabled", "GDS_ENABLED", "true", "flags: {gdsEnabled: true}"},
      {"--mofed-enabled", "MOFED_ENABLED", "true", "flags: {mofedEnabled: true}"},
      {"--cdi-annotation-prefix", "CDI_ANNOTATION_PREFIX", "x/",
       "flags: {plugin: {cdiAnnotationPrefix: x/}}"},
      {"--nvidia-cdi-hook-path", "NVIDIA_CDI_HOOK_PATH", "/h",
       "flags: {plugin: {nvidiaCTKPath: /h}}"},
      {"--nvidia-ctk-path", "NVIDIA_CTK_PATH", "/h", "flags: {plugin: {nvidiaCTKPath: /h}}"},
      {"--driver-root-ctr-path", "DRIVER_ROOT_CTR_PATH", "/c",
       "flags: {plugin: {containerDriverRoot: /c}}"},
      {"--container-driver-root", "CONTAINER_DRIVER_ROOT", "/c",
       "flags: {plugin: {containerDriverRoot: /c}}"},
      {"--mps-root", "MPS_ROOT", "/m", "flags: {mpsRoot: /m}"},
      {"--shared-devices-allocation-policy", "SHARED_DEVICES_ALLOCATION_POLICY", "packed",
       "flags: {plugin: {sharedDevicesAllocationPolicy: packed}}"},
      {"--imex-channel-ids", "IMEX_CHANNEL_IDS", "0", "imex: {channelIDs: [0]}"},
      {"--imex-required", "IMEX_REQUIRED", "true", "imex: {required: true}"},
      {"--cdi-disable-hooks", "CDI_DISABLE_HOOKS", "all", ""},
  };
  const auto by_default = Line(Decided(Parse({})));
  for (const auto& row : rows) {
    const auto argument = format("{}={}", row.flag, row.value);
    const auto by_flag = Line(Decided(Parse({argument.c_str()})));
    EXPECT_NE(by_flag, by_default) << row.flag;
    if (*row.file != '\0') {
      EXPECT_EQ(Line(Decided(Parse({}), row.file)), by_flag) << row.file;
    }
    const Variables variable({{row.variable, row.value}});
    EXPECT_EQ(Line(Decided(Parse({}))), by_flag) << row.variable;
  }
}

TEST(Flags, WhatOnlyThePluginItselfReads) {
  struct Row {
    const char* flag;
    const char* variable;
    std::function<std::string(const Flags&)> read;
  };
  const std::vector<Row> rows = {
      {"--kubelet-socket", "KUBELET_SOCKET", [](const auto& a) { return a.kubelet_socket; }},
      {"--config-file", "CONFIG_FILE", [](const auto& a) { return a.config_file; }},
      {"--cdi-feature-flags", "CDI_FEATURE_FLAGS",
       [](const auto& a) { return Join(a.cdi_feature_flags, ","); }},
      {"", "DP_DISABLE_HEALTHCHECKS", [](const auto& a) { return a.disable_health_checks; }},
      {"", "DP_ENABLE_HEALTHCHECKS", [](const auto& a) { return a.enable_health_checks; }},
      {"--config-file-srcdir", "CONFIG_FILE_SRCDIR", [](const auto& a) { return a.config_dir; }},
      {"--default-config", "DEFAULT_CONFIG", [](const auto& a) { return a.default_config; }},
      {"--node-name", "NODE_NAME", [](const auto& a) { return a.node_name; }},
      {"--node-label", "NODE_LABEL", [](const auto& a) { return a.node_label; }},
      {"--fallback-strategies", "FALLBACK_STRATEGIES",
       [](const auto& a) { return Join(a.fallback_strategies, ","); }},
  };
  for (const auto& row : rows) {
    if (*row.flag != '\0') {
      const auto argument = format("{}=a,b", row.flag);
      EXPECT_EQ(row.read(Parse({argument.c_str()})), "a,b") << row.flag;
    }
    const Variables variable({{row.variable, "a,b"}});
    EXPECT_EQ(row.read(Parse({})), "a,b") << row.variable;
  }
}

TEST(Settings, MpsImexAndModes) {
  const Variables gds({{"GDS_ENABLED", "true"}});
  const auto settings = Decided(
      Parse({"--mps-root=/m", "--gdrcopy-enabled", "--imex-required", "--cdi-disable-hooks=a,b",
             "--cdi-feature-flags=c,d"}),
      "{flags: {mofedEnabled: true, gdsEnabled: false}, imex: {channelIDs: [0]}, health: {xids: "
      "{ignore: [74]}}, sharing: {mps: {resources: [{name: gpu, replicas: 4}]}}}");
  EXPECT_EQ(settings.mps_root, "/m");
  EXPECT_TRUE(settings.sharing.fail_requests_greater_than_one);
  EXPECT_THAT(settings.modes, ElementsAre("gdrcopy", "gds", "mofed"));
  EXPECT_THAT(settings.imex_channels, ElementsAre(0));
  EXPECT_TRUE(settings.imex_required);
  EXPECT_THAT(settings.xids.ignore, ElementsAre(74));
  EXPECT_THAT(settings.cdi_features, ElementsAre("c", "d"));
  EXPECT_THAT(settings.disabled_hooks, ElementsAre("a", "b"));
  EXPECT_THAT(Decided(Parse({"--imex-channel-ids=0"})).imex_channels, ElementsAre(0));
}

TEST(Settings, DiscoveryStrategies) {
  EXPECT_FALSE(Decided(Parse({})).tegra_only);
  EXPECT_FALSE(Decided(Parse({"--device-discovery-strategy=nvml"})).tegra_only);
  EXPECT_TRUE(Decided(Parse({"--device-discovery-strategy=tegra"})).tegra_only);
  EXPECT_TRUE(Decided(Parse({}), "flags: {deviceDiscoveryStrategy: tegra}").tegra_only);
}

// As NVIDIA's manifests set them, for the container of the config manager and its init container.
TEST(Flags, TheConfigManagersAreAcceptedAndChecked) {
  const Variables kubeconfig({{"KUBECONFIG", "/k"}});
  for (const auto* value : {"true", "false", ""}) {
    const Variables oneshot({{"ONESHOT", value}});
    const Variables send({{"SEND_SIGNAL", value}});
    const Variables signal({{"SIGNAL", *value == '\0' ? "" : "1"}});
    const Variables process({{"PROCESS_TO_SIGNAL", *value == '\0' ? "" : "nvidia-device-plugin"}});
    const Variables to({{"CONFIG_FILE_DST", "/config/config.yaml"}});
    EXPECT_EQ(Parse({}).kubeconfig, "/k");
  }
  EXPECT_EQ(Parse({"--oneshot", "--send-signal=false", "--signal=1", "--process-to-signal=x",
                   "--config-file-dst=/c", "--kubeconfig=/other"})
                .kubeconfig,
            "/other");
  for (const auto* wrong : {"--oneshot=maybe", "--send-signal=2", "--signal=HUP"}) {
    const std::array words = {"nvidia-device-plugin", wrong};
    EXPECT_FALSE(ParseFlags(2, words.data())) << wrong;
  }
}

TEST(Settings, MigStrategies) {
  EXPECT_EQ(Decided(Parse({})).mig_strategy, policy::MigStrategy::kNone);
  EXPECT_EQ(Decided(Parse({}), "flags: {migStrategy: mixed}").mig_strategy,
            policy::MigStrategy::kMixed);
  EXPECT_EQ(Decided(Parse({"--mig-strategy=single"}), "flags: {migStrategy: mixed}").mig_strategy,
            policy::MigStrategy::kSingle);
}

TEST(Flags, WhatNobodyKnowsIsRefused) {
  const std::array words = {"nvidia-device-plugin", "--no-such-flag"};
  const auto parsed = ParseFlags(2, words.data());
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message, HasSubstr("--no-such-flag"));
  const std::array wrong = {"nvidia-device-plugin", "--pass-device-specs=maybe"};
  const auto refused = ParseFlags(2, wrong.data());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--pass-device-specs"));
}

}  // namespace
}  // namespace gantry::device_plugin
