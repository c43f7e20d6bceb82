// SPDX-License-Identifier: Apache-2.0

#include "policy/cluster_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "policy/image.h"
#include "policy/operands.h"

namespace gantry::policy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json Policy(Json spec) { return {{"metadata", {{"name", "p"}}}, {"spec", std::move(spec)}}; }

TEST(ClusterPolicy, AnEmptySpecHasNvidiasDefaults) {
  for (const Json& object : {Json::object(), Policy(Json::object()), Policy(nullptr)}) {
    const auto policy = Parse(object);
    ASSERT_TRUE(policy.has_value());
    EXPECT_TRUE(policy->driver.enabled);
    EXPECT_TRUE(policy->toolkit.enabled);
    EXPECT_TRUE(policy->device_plugin.enabled);
    EXPECT_TRUE(policy->gfd.enabled);
    EXPECT_TRUE(policy->validator.enabled);
    EXPECT_TRUE(policy->cdi);
    EXPECT_FALSE(policy->sandbox);
    EXPECT_EQ(policy->runtime_class, "nvidia");
    EXPECT_EQ(policy->install_dir, "/usr/local/nvidia");
    EXPECT_EQ(policy->tolerations.size(), 1U);
    EXPECT_EQ(policy->tolerations[0]["key"], "nvidia.com/gpu");
  }
}

TEST(ClusterPolicy, ReadsWhatIsWritten) {
  const auto policy = Parse(Policy({
      {"operator", {{"runtimeClass", "gpu"}}},
      {"daemonsets",
       {{"labels", {{"team", "ml"}}},
        {"annotations", {{"a", "b"}}},
        {"tolerations", Json::array({{{"operator", "Exists"}}})},
        {"updateStrategy", "OnDelete"},
        {"rollingUpdate", {{"maxUnavailable", "25%"}}}}},
      {"toolkit",
       {{"enabled", false},
        {"installDir", "/opt/nvidia"},
        {"args", {"--x"}},
        {"env", Json::array({{{"name", "A"}, {"value", "1"}}})},
        {"resources", {{"limits", {{"cpu", "1"}}}}}}},
      {"devicePlugin", {{"config", {{"name", "slices"}, {"default", "any"}}}}},
      {"mig", {{"strategy", "mixed"}}},
      {"validator", {{"plugin", {{"env", Json::array({{{"name", "W"}, {"value", "x"}}})}}}}},
  }));
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  EXPECT_EQ(policy->runtime_class, "gpu");
  EXPECT_EQ(policy->pod_labels.at("team"), "ml");
  EXPECT_TRUE(policy->update_on_delete);
  EXPECT_EQ(policy->max_unavailable, "25%");
  EXPECT_FALSE(policy->toolkit.enabled);
  EXPECT_EQ(policy->install_dir, "/opt/nvidia");
  EXPECT_THAT(policy->toolkit.args, ElementsAre("--x"));
  EXPECT_EQ(policy->toolkit.env.at(0).second, "1");
  EXPECT_EQ(policy->config_name, "slices");
  EXPECT_EQ(policy->config_default, "any");
  EXPECT_EQ(policy->mig_strategy, "mixed");
  EXPECT_EQ(policy->validator_plugin_env.at(0).first, "W");
}

TEST(ClusterPolicy, AnEmptyDefaultOfMigIsNone) {
  EXPECT_EQ(Parse(Policy(Json::object()))->mig_default, "all-disabled");
  EXPECT_EQ(Parse(Policy({{"migManager", {{"config", {{"default", ""}}}}}}))->mig_default, "");
}

TEST(ClusterPolicy, AMistakeNamesItsField) {
  const std::vector<std::pair<Json, std::string>> cases = {
      {{{"mig", {{"strategy", "tripel"}}}}, "spec.mig.strategy: \"tripel\" is none of"},
      {{{"driver", {{"version", 5}}}}, "spec.driver.version: must be a string"},
      {{{"driver", 5}}, "spec.driver: must be an object"},
      {{{"toolkit", {{"enabled", "yes"}}}}, "spec.toolkit.enabled: must be true or false"},
      {{{"gfd", {{"args", "x"}}}}, "spec.gfd.args: must be a list of strings"},
      {{{"gfd", {{"env", 1}}}}, "spec.gfd.env: must be a list"},
      {{{"gfd", {{"env", Json::array({{{"value", "1"}}})}}}}, "spec.gfd.env: an entry has no name"},
      {{{"gfd", {{"resources", 1}}}}, "spec.gfd.resources: must be an object"},
      {{{"driver", {{"startupProbe", {{"periodSeconds", "1"}}}}}},
       "spec.driver.startupProbe.periodSeconds: must be a whole number"},
      {{{"daemonsets", {{"tolerations", 1}}}}, "spec.daemonsets.tolerations: must be a list"},
      {{{"daemonsets", {{"labels", {{"a", 1}}}}}}, "spec.daemonsets.labels: must be a map"},
      {{{"daemonsets", {{"rollingUpdate", {{"maxUnavailable", "many"}}}}}},
       "spec.daemonsets.rollingUpdate.maxUnavailable: \"many\""},
      {{{"daemonsets", {{"rollingUpdate", {{"maxUnavailable", "%"}}}}}},
       "spec.daemonsets.rollingUpdate.maxUnavailable: \"%\""},
      {{{"daemonsets", {{"rollingUpdate", {{"maxUnavailable", "101%"}}}}}},
       "spec.daemonsets.rollingUpdate.maxUnavailable: \"101%\""},
      {{{"daemonsets", {{"rollingUpdate", {{"maxUnavailable", "2147483648"}}}}}},
       "spec.daemonsets.rollingUpdate.maxUnavailable: \"2147483648\""},
      {{{"cdi", {{"enabled", false}, {"nriPluginEnabled", true}}}},
       "spec.cdi.nriPluginEnabled: needs cdi.enabled and toolkit.enabled"},
      {{{"cdi", {{"nriPluginEnabled", true}}}, {"toolkit", {{"enabled", false}}}},
       "spec.cdi.nriPluginEnabled: needs cdi.enabled and toolkit.enabled"},
  };
  for (const auto& [spec, message] : cases) {
    const auto policy = Parse(Policy(spec));
    ASSERT_FALSE(policy.has_value()) << spec;
    EXPECT_EQ(policy.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(policy.error().message, HasSubstr(message));
  }
}

TEST(ClusterPolicy, KnownFieldsThatAreNotActedOnAreNamed) {
  EXPECT_THAT(
      UnsupportedFields(Policy({
          {"driver", {{"enabled", false}, {"usePrecompiled", true}}},
          {"dcgmExporter", {{"enabled", true}, {"serviceMonitor", {{"interval", "15s"}}}}},
          {"vgpuManager", {{"enabled", true}}},
          {"vfioManager",
           {{"enabled", true},
            {"driverManager",
             {{"image", "i"},
              {"env", Json::array({{{"name", "ENABLE_AUTO_DRAIN"}, {"value", "true"}},
                                   {{"name", "ENABLE_GPU_POD_EVICTION"}, {"value", "false"}}})}}}}},
          {"sandboxWorkloads", {{"enabled", true}}},
          {"migManager",
           {{"gpuClientsConfig", {{"name", "clients"}}},
            {"gpuHolders", {{"action", "evict"}}},
            {"env", Json::array({{{"name", "WITH_REBOOT"}, {"value", "true"}},
                                 {{"name", "WITH_SHUTDOWN_HOST_GPU_CLIENTS"}, {"value", "false"}},
                                 {{"name", "CDI_ENABLED"}, {"value", "true"}}})}}},
          {"dcgm", {{"enabled", false}}},
          {"devicePlugin", {{"mps", {{"root", "/mps"}}}, {"config", {{"name", "c"}}}}},
          {"psa", {{"enabled", true}}},
          {"operator", {{"labels", {{"a", "b"}}}, {"defaultRuntime", "containerd"}}},
      })),
      ElementsAre("migManager.gpuClientsConfig.name", "migManager.env.WITH_REBOOT",
                  "vfioManager.driverManager.image",
                  "vfioManager.driverManager.env.ENABLE_AUTO_DRAIN", "vgpuManager"));
  const Json image = {{"repository", "r"}, {"image", "i"}, {"version", "v"}};
  Json mig = image;
  mig["gpuClientsConfig"] = {{"name", "clients"}};
  mig["gpuHolders"] = {{"action", "evict"}};
  Json driver = image;
  driver.update({{"upgradePolicy", {{"autoUpgrade", true}, {"maxUnavailable", "25%"}}},
                 {"readinessProbe", {{"periodSeconds", 3}}}});
  Json exporter = image;
  exporter["serviceMonitor"] = {{"enabled", true}, {"interval", "15s"}};
  EXPECT_THAT(UnsupportedFields(Policy({
                  {"driver", driver},
                  {"dcgmExporter", exporter},
                  {"dcgm", {{"enabled", true}, {"version", "v"}}},
                  {"migManager", mig},
                  {"cdi", {{"nriPluginEnabled", true}}},
                  {"kataManager", {{"enabled", true}}},
              })),
              ElementsAre("driver.readinessProbe.periodSeconds", "migManager.gpuHolders"));
}

TEST(ClusterPolicy, DefaultsOfTheApiServerAreNotNamed) {
  EXPECT_THAT(UnsupportedFields(Policy({
                  {"driver", {{"enabled", false}, {"kernelModuleType", "auto"}}},
                  {"dcgmExporter", {{"enabled", false}}},
                  {"migManager", {{"enabled", false}, {"config", {{"default", "all-disabled"}}}}},
                  {"cdi", {{"enabled", true}, {"default", false}, {"nriPluginEnabled", false}}},
                  {"sandboxWorkloads",
                   {{"enabled", false}, {"defaultWorkload", "container"}, {"mode", "kubevirt"}}},
                  {"ccManager", {{"enabled", true}, {"defaultMode", "on"}}},
                  {"devicePlugin", {{"mps", {{"root", "/run/nvidia/mps"}}}}},
              })),
              IsEmpty());
}

TEST(Operands, FollowNvidiasEnableRules) {
  const auto wanted = [](const Json& spec) {
    const auto policy = Parse(Policy(spec));
    CHECK(policy.has_value());
    std::vector<std::string> states;
    for (const Operand& operand : Operands()) {
      if (Wanted(operand, *policy)) {
        states.emplace_back(operand.state);
      }
    }
    return states;
  };
  EXPECT_THAT(wanted(Json::object()),
              ElementsAre("node-features", "pre-requisites", "state-operator-metrics",
                          "state-driver", "state-container-toolkit", "state-operator-validation",
                          "state-device-plugin", "state-mps-control-daemon", "state-dcgm",
                          "state-dcgm-exporter", "gpu-feature-discovery", "state-mig-manager"));
  Json off;
  for (const auto* section :
       {"driver", "devicePlugin", "dcgm", "dcgmExporter", "gfd", "migManager"}) {
    off[section] = {{"enabled", false}};
  }
  off["cdi"] = {{"nriPluginEnabled", true}};
  EXPECT_THAT(wanted(off), ElementsAre("node-features", "state-operator-metrics",
                                       "state-container-toolkit", "state-operator-validation"));
  off.erase("cdi");
  off["toolkit"] = {{"enabled", false}};
  off["sandboxWorkloads"] = {{"enabled", true}};
  for (const auto* section :
       {"vgpuManager", "vgpuDeviceManager", "vfioManager", "sandboxDevicePlugin",
        "kataSandboxDevicePlugin", "kataManager", "ccManager", "nodeStatusExporter"}) {
    off[section] = {{"enabled", true}};
  }
  EXPECT_THAT(wanted(off), ElementsAre("node-features", "pre-requisites", "state-operator-metrics",
                                       "state-operator-validation", "state-node-status-exporter",
                                       "state-vgpu-manager", "state-vgpu-device-manager",
                                       "state-sandbox-validation", "state-vfio-manager",
                                       "state-sandbox-device-plugin"));
  off["sandboxWorkloads"]["mode"] = "kata";
  EXPECT_THAT(wanted(off), testing::IsSupersetOf({"state-kata-device-plugin", "state-cc-manager"}));
  off["driver"] = {{"enabled", true}, {"useNvidiaDriverCRD", true}};
  EXPECT_THAT(wanted(off), testing::Not(testing::Contains("state-driver")));
}

TEST(Operands, AnImageIsNeededByThoseThatAreNvidias) {
  const auto policy = Parse(Policy({{"dcgm", {{"image", "r.io/dcgm:1"}}},
                                    {"driver", {{"version", "1"}}},
                                    {"ccManager", {{"repository", "r"}}}}));
  ASSERT_TRUE(policy.has_value());
  const auto has = [&](OperandId id) { return HasImage(OperandOf(id), *policy); };
  EXPECT_TRUE(has(OperandId::kDevicePlugin));
  EXPECT_TRUE(has(OperandId::kPreRequisites));
  EXPECT_TRUE(has(OperandId::kDcgm));
  EXPECT_FALSE(has(OperandId::kDriver)) << "a version alone is of NVIDIA's, and of none of ours";
  EXPECT_TRUE(has(OperandId::kCcManager)) << "half an image is a mistake, not an absence";
  EXPECT_TRUE(has(OperandId::kDcgmExporter));
  EXPECT_TRUE(has(OperandId::kMigManager));
  EXPECT_TRUE(has(OperandId::kVfioManager));
  EXPECT_TRUE(has(OperandId::kSandboxDevicePlugin));
  EXPECT_FALSE(HasImage(OperandOf(OperandId::kDcgm), *Parse(Policy(Json::object()))));
}

TEST(Operands, TheVgpuDeviceManagerNeedsATableToo) {
  const Json image = {{"image", "r.io/vgpu-device-manager:1"}};
  Json with_table = image;
  with_table["config"] = {{"name", "types"}};
  const Operand& manager = OperandOf(OperandId::kVgpuDeviceManager);
  EXPECT_FALSE(CanRun(manager, *Parse(Policy({{"vgpuDeviceManager", image}}))));
  EXPECT_TRUE(CanRun(manager, *Parse(Policy({{"vgpuDeviceManager", with_table}}))));
  EXPECT_FALSE(CanRun(OperandOf(OperandId::kDcgm), *Parse(Policy(Json::object()))));
}

TEST(Operands, AreFoundByIdAndSection) {
  EXPECT_EQ(OperandOfSection("gfd")->state, "gpu-feature-discovery");
  EXPECT_EQ(OperandOf(OperandId::kDcgm).section, "dcgm");
  EXPECT_EQ(OperandOfSection(""), nullptr);
  EXPECT_EQ(OperandOfSection("daemonsets"), nullptr);
}

// gpu-operator, controllers/state_manager.go: gpuStateLabels.
TEST(Operands, NodesOfAWorkloadGetNvidiasSet) {
  using testing::UnorderedElementsAre;
  EXPECT_THAT(DeployedFor(Workload::kContainer),
              UnorderedElementsAre("driver", "gpu-feature-discovery", "container-toolkit",
                                   "device-plugin", "dcgm", "dcgm-exporter", "mig-manager",
                                   "node-status-exporter", "operator-validator", "client"));
  EXPECT_THAT(DeployedFor(Workload::kPassthrough),
              UnorderedElementsAre("sandbox-device-plugin", "sandbox-validator", "vfio-manager",
                                   "kata-manager", "cc-manager", "client"));
  EXPECT_THAT(DeployedFor(Workload::kKata),
              UnorderedElementsAre("kata-sandbox-device-plugin", "sandbox-validator",
                                   "vfio-manager", "kata-manager", "cc-manager", "client"));
  EXPECT_THAT(DeployedFor(Workload::kVgpu),
              UnorderedElementsAre("sandbox-device-plugin", "vgpu-manager", "vgpu-device-manager",
                                   "sandbox-validator", "cc-manager", "client"));
}

TEST(Image, FollowsTheParts) {
  const auto image = [](const std::array<std::string, 3>& parts, std::string_view ours = "ours:1") {
    return ChooseImage({parts[0], parts[1], parts[2], "", {}}, ours, "gfd");
  };
  using Parts = std::array<std::string, 3>;
  EXPECT_EQ(image({"r.io/n", "i", "v1"})->image, "r.io/n/i:v1");
  EXPECT_EQ(image({"r.io/n", "i", "sha256:ab"})->image, "r.io/n/i@sha256:ab");
  EXPECT_EQ(image({"", "r.io/n/i:v2", ""})->image, "r.io/n/i:v2");
  EXPECT_EQ(image({})->image, "ours:1");
  EXPECT_FALSE(image({})->version_ignored);
  EXPECT_EQ(image({"", "", "v0.16.1"})->image, "ours:1");
  EXPECT_TRUE(image({"", "", "v0.16.1"})->version_ignored);
  for (const Parts& partial :
       {Parts{"r", "", ""}, Parts{"r", "i", ""}, Parts{"", "i", "v"}, Parts{"r", "", "v"}}) {
    const auto choice = image(partial);
    ASSERT_FALSE(choice.has_value());
    EXPECT_THAT(choice.error().message, HasSubstr("spec.gfd"));
  }
  EXPECT_FALSE(image({}, "").has_value());
}

}  // namespace
}  // namespace gantry::policy
