// SPDX-License-Identifier: Apache-2.0

#include "operator/node_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/node_labels_for_tests.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(NodeLabels, AGpuNodeIsLabelledInOneRound) {
  LabelledNode node;
  node.Feature("n", {{kPciLabel, "true"}, {kKernelLabel, "6.1"}});
  const Labels labels = node.Round();
  EXPECT_THAT(labels, IsSupersetOf({Pair(kPciLabel, "true"), Pair(kKernelLabel, "6.1"),
                                    Pair("nvidia.com/gpu.present", "true"),
                                    Pair("nvidia.com/gpu.deploy.device-plugin", "true"),
                                    Pair("nvidia.com/gpu.deploy.operator-validator", "true")}));
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/gpu.deploy.mig-manager"))));
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/gpu.deploy.vfio-manager"))));
}

TEST(NodeLabels, ByClaimsTheDraDriverComesInPlaceOfTheDevicePlugin) {
  LabelledNode node;
  node.Worker({{kPciLabel, "true"}});
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/gpu.deploy.device-plugin", "true")));
  node.Set("nvidia.com/gpu.deploy.container-toolkit", "false");
  node.rules.claims = true;
  const Labels by_claims = node.Round();
  EXPECT_THAT(by_claims, IsSupersetOf({Pair("nvidia.com/gpu.deploy.dra-driver", "true"),
                                       Pair("nvidia.com/gpu.deploy.operator-validator", "true"),
                                       Pair("nvidia.com/gpu.deploy.container-toolkit", "false")}));
  EXPECT_THAT(by_claims, Not(Contains(Key("nvidia.com/gpu.deploy.device-plugin"))));
  node.rules.claims = false;
  const Labels by_plugin = node.Round();
  EXPECT_THAT(by_plugin, Contains(Pair("nvidia.com/gpu.deploy.device-plugin", "true")));
  EXPECT_THAT(by_plugin, Not(Contains(Key("nvidia.com/gpu.deploy.dra-driver"))));
}

TEST(NodeLabels, WhatOurValidatorSaidGoesWithIt) {
  LabelledNode node;
  node.Feature("n", {{kPciLabel, "true"}});
  node.Feature("nvidia-validation-for-n", {{"nvidia.com/gpu.validation", "DriverMissing"}});
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/gpu.validation", "DriverMissing")));
  node.rules.validated = false;
  EXPECT_THAT(node.Round(), Not(Contains(Key("nvidia.com/gpu.validation"))));
  node.rules.validated = true;
  EXPECT_THAT(node.Round(), Contains(Key("nvidia.com/gpu.validation")));
}

TEST(NodeLabels, NvidiasMigManagerWritesItsStateItself) {
  LabelledNode node;
  node.Feature("n", {{kPciLabel, "true"}});
  node.Feature("nvidia-mig-for-n", {{"nvidia.com/mig.config.state", "success"}});
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/mig.config.state", "success")));
  node.rules.mig_states = false;
  EXPECT_THAT(node.Round(), Not(Contains(Key("nvidia.com/mig.config.state"))));
  node.Set("nvidia.com/mig.config.state", "pending");
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/mig.config.state", "pending")));
}

TEST(NodeLabels, WhatHappensToHoldersDecidesTheStateOfTheirLayout) {
  constexpr char kState[] = "nvidia.com/mig.config.state";
  LabelledNode node;
  node.Feature("n", {{kPciLabel, "true"}});
  node.Feature("nvidia-mig-for-n", {{kState, "failed"}}, Json::object(),
               {{names::kMigHolders, R"({"layout": "all-1g.10gb", "pods": ["default/train"]})"}});
  EXPECT_THAT(node.Round(), Contains(Pair(kState, "failed")));
  node.rules.gpu_holders.action = policy::HolderAction::kWait;
  EXPECT_THAT(node.Round(), Contains(Pair(kState, "failed"))) << "the label asks for no layout";
  node.Set("nvidia.com/mig.config", "all-1g.10gb");
  EXPECT_THAT(node.Round(), Contains(Pair(kState, "pending")));
}

TEST(NodeLabels, TheDriverManagerIsToldWhoEmptiesTheNode) {
  LabelledNode node;
  node.Feature("n", {{kPciLabel, "true"}});
  node.rules.upgrades = true;
  node.Round();
  EXPECT_EQ(node.Annotation(names::kUpgradeEnabled), "true");
  node.rules.upgrades = false;
  node.Round();
  EXPECT_FALSE(node.node()["metadata"]["annotations"].contains(names::kUpgradeEnabled));
  LabelledNode other;
  other.Feature("n", {{kKernelLabel, "6.1"}});
  other.rules.upgrades = true;
  other.Round();
  EXPECT_EQ(other.Annotation(names::kUpgradeEnabled), "") << "it has no GPU";
}

TEST(NodeLabels, ANodeIsToldWhoseDriverItGetsInTheSameRound) {
  LabelledNode node;
  node.Feature("n", {{kPciLabel, "true"}});
  node.rules.driver_owner = "d";
  node.rules.upgraded_drivers = {"d"};
  EXPECT_THAT(node.Round(), IsSupersetOf({Pair(names::kDriverOwner, "d"),
                                          Pair("nvidia.com/gpu.deploy.driver", "true")}));
  EXPECT_EQ(node.Annotation(names::kUpgradeEnabled), "true");
  node.rules.driver_owner = std::nullopt;
  EXPECT_THAT(node.Round(), Contains(Pair(names::kDriverOwner, "d"))) << "in doubt it stays";
  node.rules.driver_owner = "other";
  EXPECT_THAT(node.Round(), Contains(Pair(names::kDriverOwner, "other")));
  EXPECT_EQ(node.Annotation(names::kUpgradeEnabled), "") << "upgrades of that one are off";
  node.rules.driver_owner = "";
  EXPECT_THAT(node.Round(), Not(Contains(Key(names::kDriverOwner))));
  node.Set(names::kDriverOwner, "d").Feature("n", {{kKernelLabel, "6.1"}});
  node.rules.driver_owner = std::nullopt;
  EXPECT_THAT(node.Round(), Not(Contains(Key(names::kDriverOwner)))) << "its GPU is gone";
}

TEST(NodeLabels, ANodeWithoutGpusGetsItsFeaturesOnly) {
  LabelledNode node;
  node.Feature("n", {{kKernelLabel, "6.1"}});
  EXPECT_THAT(node.Round(),
              UnorderedElementsAre(Pair("kubernetes.io/os", "linux"), Pair(kKernelLabel, "6.1")));
}

TEST(NodeLabels, NothingGoesBecauseANodeFeatureIsGone) {
  LabelledNode node;
  node.Feature("n", {{kPciLabel, "true"}}).Feature("g", {{"nvidia.com/gpu.product", "T4"}});
  const Labels before = node.Round();
  node.NoFeature("n").NoFeature("g");
  EXPECT_EQ(node.Round(), before);
  // It comes back with the same labels: still nothing to do.
  node.Feature("n", {{kPciLabel, "true"}});
  EXPECT_EQ(node.Round(), before);
}

TEST(NodeLabels, WhatADeletedObjectOfOthersSaidGoes) {
  LabelledNode node;
  node.Worker({{kPciLabel, "true"}}).Feature("nvidia-features-for-n", {{"nvidia.com/c", "3"}});
  node.Feature("team/vendor", {{"vendor.com/a", "1"}, {"vendor.com/b", "2"}});
  node.Feature("other", {{"vendor.com/b", "2"}, {"vendor.com/d", "4"}});
  const Labels before = node.Round();
  node.NoFeature("team/vendor");
  EXPECT_EQ(node.Round(), before) << "its namespace has no say any more";
  node.Delete("team/vendor");
  const Labels after = node.Round();
  EXPECT_THAT(after, Not(Contains(Key("vendor.com/a"))));
  EXPECT_THAT(after, Contains(Pair("vendor.com/b", "2"))) << "another object says so too";
  EXPECT_THAT(node.Annotation(names::kFeatureLabelsAnnotation), Not(HasSubstr("vendor:")));
  // Of ours nothing goes, and nothing of others' while nobody describes the node.
  node.Delete("nvidia-features-for-n").NoFeature("n").Delete("other");
  EXPECT_EQ(node.Round(), after);
  node.Worker({{kPciLabel, "true"}});
  const Labels described = node.Round();
  EXPECT_THAT(described, Not(Contains(Key("vendor.com/d"))));
  EXPECT_THAT(described, Contains(Pair("nvidia.com/c", "3")));
}

TEST(NodeLabels, ALabelGoesWhenItsNodeFeatureIsSeenWithoutIt) {
  LabelledNode node;
  node.Feature("n", {{kPciLabel, "true"}})
      .Feature("g", {{"nvidia.com/a", "1"}, {"nvidia.com/b", "2"}});
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/a", "1")));
  node.Feature("g", {{"nvidia.com/b", "3"}});
  const Labels labels = node.Round();
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/a"))));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/b", "3")));
  // Said by another object: it stays.
  node.Feature("h", {{"nvidia.com/b", "3"}});
  node.Round();
  node.Feature("g", Json::object());
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/b", "3")));
}

TEST(NodeLabels, AGpuThatIsSeenToBeGoneTakesTheOperandsAway) {
  LabelledNode node;
  node.Feature("n", {{kPciLabel, "true"}, {kKernelLabel, "6.1"}});
  node.Round();
  node.Feature("n", {{kKernelLabel, "6.1"}});
  const Labels labels = node.Round();
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.present", "false")));
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/gpu.deploy.device-plugin"))));
}

constexpr char kGpuPciDevices[] = R"({"instances": {"pci.device": {"elements": [
    {"attributes": {"class": "0302", "vendor": "10de", "device": "1eb8"}},
    {"attributes": {"class": "0300", "vendor": "1a03", "device": "2000"}}]}}})";
constexpr char kOtherPciDevices[] = R"({"instances": {"pci.device": {"elements": [
    {"attributes": {"class": "0300", "vendor": "1a03", "device": "2000"}}]}}})";

std::string PciLabelOf(const std::string& fields) {
  return "feature.node.kubernetes.io/pci-" + fields + ".present";
}

// deviceLabelFields of node feature discovery's configuration is changed, by a T4.
TEST(NodeLabels, Op1469_AGpuIsThereInWhateverFormItsLabelIs) {
  for (const char* fields : {"10de_1eb8", "0302_10de", "0302_10de_1eb8", "10de_1eb8_10de_12a2"}) {
    LabelledNode ours;
    ours.Worker({{kPciLabel, "true"}, {kKernelLabel, "6.1"}});
    const Labels before = ours.Round();
    ours.Worker({{PciLabelOf(fields), "true"}, {kKernelLabel, "6.1"}});
    Labels after = ours.Round();
    EXPECT_EQ(after.erase(PciLabelOf(fields)), 1U);
    after.emplace(kPciLabel, "true");
    EXPECT_EQ(after, before) << fields;
    LabelledNode foreign({{kPciLabel, "true"}, {kKernelLabel, "6.1"}});
    foreign.rules.from_features = false;
    foreign.Round();
    foreign.Set(kPciLabel, nullptr).Set(PciLabelOf(fields), "true");
    EXPECT_THAT(foreign.Round(), IsSupersetOf({Pair(names::kGpuPresent, "true"),
                                               Pair("nvidia.com/gpu.deploy.driver", "true")}))
        << fields;
    LabelledNode fresh(Json::object({{PciLabelOf(fields), "true"}}));
    fresh.rules.from_features = false;
    EXPECT_THAT(fresh.Round(), Contains(Pair(names::kGpuPresent, "true"))) << fields;
  }
}

TEST(NodeLabels, Op1469_AGpuThatRawFeaturesHaveIsThereWithoutALabel) {
  const Json gpu = ParseJson(kGpuPciDevices).value();
  for (const char* fields : {"0302", "1eb8", "0302_1eb8", "10de"}) {
    LabelledNode ours;
    ours.Worker({{PciLabelOf(fields), "true"}, {kKernelLabel, "6.1"}}, gpu);
    EXPECT_THAT(ours.Round(), IsSupersetOf({Pair(names::kGpuPresent, "true"),
                                            Pair("nvidia.com/gpu.deploy.driver", "true")}))
        << fields;
    LabelledNode foreign({{PciLabelOf(fields), "true"}, {kKernelLabel, "6.1"}});
    foreign.rules.from_features = false;
    foreign.foreign_gpus = true;
    EXPECT_THAT(foreign.Round(), Contains(Pair(names::kGpuPresent, "true"))) << fields;
  }
}

TEST(NodeLabels, Op1469_AGpuIsGoneWhenRawFeaturesHaveNone) {
  LabelledNode ours;
  ours.Worker({{PciLabelOf("0302_1eb8"), "true"}}, ParseJson(kGpuPciDevices).value());
  ours.Round();
  // What was left behind by another worker says nothing against ours.
  ours.Feature("old", Json::object(), ParseJson(kGpuPciDevices).value());
  ours.Worker({{PciLabelOf("0300_1a03"), "true"}}, ParseJson(kOtherPciDevices).value());
  EXPECT_THAT(ours.Round(), Contains(Pair(names::kGpuPresent, "false")));
  LabelledNode foreign({{kPciLabel, "true"}, {kKernelLabel, "6.1"}});
  foreign.rules.from_features = false;
  // Our worker's object, from before that discovery came.
  foreign.Worker({}, ParseJson(kGpuPciDevices).value());
  foreign.foreign_gpus = true;
  foreign.Round();
  foreign.Set(kPciLabel, nullptr);
  foreign.foreign_gpus = false;
  EXPECT_THAT(foreign.Round(), Contains(Pair(names::kGpuPresent, "false")));
}

// A discovery that publishes no raw features.
TEST(NodeLabels, Op1469_WithoutRawFeaturesAGpuStaysWhileItMayBeMeant) {
  LabelledNode node({{kPciLabel, "true"}, {kKernelLabel, "6.1"}});
  node.rules.from_features = false;
  const Labels before = node.Round();
  node.Set(kPciLabel, nullptr).Set(PciLabelOf("0302_1eb8"), "true");
  EXPECT_THAT(node.Round(), IsSupersetOf({Pair(names::kGpuPresent, "true"),
                                          Pair("nvidia.com/gpu.deploy.driver", "true")}));
  node.Set(PciLabelOf("0302_1eb8"), nullptr).Set(PciLabelOf("0300_1a03"), "true");
  node.node()["status"]["capacity"]["nvidia.com/gpu"] = "2";
  EXPECT_THAT(node.Round(), Contains(Pair(names::kGpuPresent, "true"))) << "the kubelet offers it";
  node.node()["status"]["capacity"]["nvidia.com/gpu"] = "0";
  EXPECT_THAT(node.Round(), Contains(Pair(names::kGpuPresent, "false")));
  LabelledNode fresh(Json::object({{PciLabelOf("0302_1eb8"), "true"}}));
  fresh.rules.from_features = false;
  EXPECT_THAT(fresh.Round(), Not(Contains(Key(names::kGpuPresent))));
}

TEST(NodeLabels, Op2288_WhatSomebodyWroteStaysWhileTheGpuIsAway) {
  LabelledNode node({{"nvidia.com/gpu.deploy.device-plugin", "false"},
                     {"nvidia.com/gpu.deploy.vfio-manager", "mine"}});
  node.Worker({{kPciLabel, "true"}, {kKernelLabel, "6.1"}});
  node.Round();
  node.Set("nvidia.com/gpu.deploy.dcgm", "paused-for-driver-upgrade");
  node.Set("nvidia.com/gpu.deploy.mig-manager", "paused-for-mig-change");
  node.Set("nvidia.com/gpu.deploy.driver", "pre-installed");
  node.Worker({{kKernelLabel, "6.1"}});
  const Labels away = node.Round();
  EXPECT_THAT(away, IsSupersetOf({Pair(names::kGpuPresent, "false"),
                                  Pair("nvidia.com/gpu.deploy.device-plugin", "false"),
                                  Pair("nvidia.com/gpu.deploy.vfio-manager", "mine")}));
  for (const char* operand : {"dcgm", "mig-manager", "driver", "operator-validator"}) {
    EXPECT_THAT(away, Not(Contains(Key(std::string(names::kDeployPrefix) + operand))));
  }
  node.Worker({{kPciLabel, "true"}, {kKernelLabel, "6.1"}});
  EXPECT_THAT(node.Round(), IsSupersetOf({Pair(names::kGpuPresent, "true"),
                                          Pair("nvidia.com/gpu.deploy.dcgm", "true"),
                                          Pair("nvidia.com/gpu.deploy.device-plugin", "false")}));
}

TEST(NodeLabels, AForeignDiscoveryThatFallsSilentTakesNothing) {
  LabelledNode node({{kPciLabel, "true"}, {kKernelLabel, "6.1"}});
  node.rules.from_features = false;
  const Labels before = node.Round();
  EXPECT_THAT(before, Contains(Pair("nvidia.com/gpu.present", "true")));
  node.Set(kPciLabel, nullptr).Set(kKernelLabel, nullptr);
  const Labels silent = node.Round();
  EXPECT_THAT(silent, Contains(Pair("nvidia.com/gpu.present", "true")));
  EXPECT_THAT(silent, Contains(Key("nvidia.com/gpu.deploy.device-plugin")));
  // It speaks again, and names no GPU.
  node.Set(kKernelLabel, "6.1");
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/gpu.present", "false")));
}

TEST(NodeLabels, ForeignFeatureLabelsAreNotWritten) {
  LabelledNode node(Json{{kPciLabel, "true"}});
  node.rules.from_features = false;
  node.Feature("g", {{"nvidia.com/gpu.product", "T4"}});
  EXPECT_THAT(node.Round(), Not(Contains(Key("nvidia.com/gpu.product"))));
}

TEST(NodeLabels, WhatSomebodySetIsRespected) {
  LabelledNode node({{"nvidia.com/gpu.deploy.dcgm", "false"},
                     {"nvidia.com/gpu.deploy.device-plugin", "paused-for-driver-upgrade"},
                     {"nvidia.com/gpu.deploy.driver", ""}});
  node.Feature("n", {{kPciLabel, "true"}});
  EXPECT_THAT(
      node.Round(),
      IsSupersetOf({Pair("nvidia.com/gpu.deploy.dcgm", "false"),
                    Pair("nvidia.com/gpu.deploy.device-plugin", "paused-for-driver-upgrade"),
                    Pair("nvidia.com/gpu.deploy.driver", "true")}));
}

TEST(NodeLabels, AMigManagerGetsItsDefaultLabel) {
  LabelledNode node;
  node.rules.mig_default = "all-disabled";
  node.Feature("n", {{kPciLabel, "true"}}).Feature("g", {{"nvidia.com/mig.capable", "true"}});
  EXPECT_THAT(node.Round(), IsSupersetOf({Pair("nvidia.com/mig.config", "all-disabled"),
                                          Pair("nvidia.com/gpu.deploy.mig-manager", "true")}));
  node.Set("nvidia.com/mig.config", "all-balanced");
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/mig.config", "all-balanced")));
  for (const Json& devices : {Json{{"nvidia.com/mig-1g.10gb.count", "7"}},
                              Json{{"nvidia.com/gpu.product", "NVIDIA-H100-MIG-1g.10gb"}}}) {
    LabelledNode divided;
    divided.rules.mig_default = "all-disabled";
    divided.Feature("n", {{kPciLabel, "true"}, {"nvidia.com/mig.capable", "true"}})
        .Feature("g", devices);
    EXPECT_THAT(divided.Round(), Not(Contains(Key("nvidia.com/mig.config")))) << "made by hand";
    divided.Set("nvidia.com/mig.config.state", "success");
    EXPECT_THAT(divided.Round(), Contains(Pair("nvidia.com/mig.config", "all-disabled")));
  }
  LabelledNode plain;
  plain.rules.mig_default = "all-disabled";
  plain.Feature("n", {{kPciLabel, "true"}});
  EXPECT_THAT(plain.Round(), Not(Contains(Key("nvidia.com/mig.config"))));
}

TEST(NodeLabels, TheSwitchOfANodeTakesAllOperands) {
  LabelledNode node;
  node.Feature("n", {{kPciLabel, "true"}});
  node.Round();
  node.Set("nvidia.com/gpu.deploy.operands", "false");
  const Labels labels = node.Round();
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/gpu.deploy.device-plugin"))));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.present", "true")));
  node.Set("nvidia.com/gpu.deploy.operands", nullptr);
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/gpu.deploy.device-plugin", "true")));
}

TEST(NodeLabels, ARemovedLabelComesBack) {
  LabelledNode node;
  node.Feature("n", {{kPciLabel, "true"}});
  const Labels before = node.Round();
  node.Set(kPciLabel, nullptr).Set("nvidia.com/gpu.present", nullptr);
  node.Set("nvidia.com/gpu.deploy.device-plugin", nullptr);
  EXPECT_EQ(node.Round(), before);
}

TEST(NodeLabels, TheMigManagerGoesWhereGpusCanBeDivided) {
  const auto has = [](const Json& features, Json labels = Json::object()) {
    LabelledNode node(std::move(labels));
    node.Feature("g", features).Feature("n", {{kPciLabel, "true"}});
    return node.Round().contains("nvidia.com/gpu.deploy.mig-manager");
  };
  EXPECT_TRUE(has({{"nvidia.com/mig.capable", "true"}}));
  EXPECT_FALSE(has({{"nvidia.com/mig.capable", "false"}, {"nvidia.com/gpu.product", "A100"}}));
  EXPECT_TRUE(has({{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"}}));
  EXPECT_FALSE(has({{"nvidia.com/gpu.product", "Tesla-T4"}}));
  EXPECT_FALSE(
      has({{"nvidia.com/mig.capable", "true"}, {"nvidia.com/vgpu.host-driver-version", "550"}}));
  // Once there it stays while the node runs containers.
  EXPECT_TRUE(
      has({{"nvidia.com/mig.capable", "false"}}, {{"nvidia.com/gpu.deploy.mig-manager", "true"}}));
}

TEST(NodeLabels, SandboxedWorkloadsHaveTheirOwnOperands) {
  const auto labels = [](const char* workload, const std::string& mode = "kubevirt") {
    LabelledNode node({{"nvidia.com/gpu.deploy.device-plugin", "true"},
                       {"nvidia.com/gpu.deploy.mig-manager", "true"}});
    if (workload != nullptr) {
      node.Set("nvidia.com/gpu.workload.config", workload);
    }
    node.rules.sandbox = true;
    node.rules.sandbox_mode = mode;
    node.rules.default_workload = "vm-vgpu";
    node.Feature("n", {{kPciLabel, "true"}});
    return node.Round();
  };
  EXPECT_THAT(labels("container"), Contains(Key("nvidia.com/gpu.deploy.device-plugin")));
  const Labels passthrough = labels("vm-passthrough");
  EXPECT_THAT(passthrough, Contains(Key("nvidia.com/gpu.deploy.vfio-manager")));
  EXPECT_THAT(passthrough, Contains(Key("nvidia.com/gpu.deploy.sandbox-device-plugin")));
  EXPECT_THAT(passthrough, Not(Contains(Key("nvidia.com/gpu.deploy.device-plugin"))));
  EXPECT_THAT(passthrough, Not(Contains(Key("nvidia.com/gpu.deploy.mig-manager"))));
  EXPECT_THAT(labels("vm-passthrough", "kata"),
              Contains(Key("nvidia.com/gpu.deploy.kata-sandbox-device-plugin")));
  for (const char* workload : {static_cast<const char*>(nullptr), "nonsense", "vm-vgpu"}) {
    EXPECT_THAT(labels(workload), Contains(Key("nvidia.com/gpu.deploy.vgpu-manager")));
  }
}

TEST(NodeLabels, AGpuNodeThatIsDeclaredByHandGetsOperands) {
  LabelledNode node(Json{{"nvidia.com/gpu.present", "true"}});
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/gpu.deploy.device-plugin", "true")));
  EXPECT_TRUE(IsGpuNode(ProjectNode(node.node())));
  EXPECT_FALSE(IsGpuNode(ProjectNode(LabelledNode().node())));
}

TEST(NodeLabels, RulesComeFromThePolicy) {
  policy::ClusterPolicy policy;
  policy.sandbox = true;
  policy.sandbox_mode = "kata";
  policy.default_workload = "vm-vgpu";
  EXPECT_EQ(RulesOf(policy, true), (LabelRules{false, true, "kata", "vm-vgpu"}));
  policy.mig_manager.enabled = true;
  EXPECT_EQ(RulesOf(policy, true).mig_default, "all-disabled");
}

TEST(NodeLabels, ALaterObjectWins) {
  LabelledNode node;
  node.Feature("a", {{"nvidia.com/x", "first"}}).Feature("b", {{"nvidia.com/x", "second"}});
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/x", "second")));
}

TEST(NodeLabels, TheRecordIsAlsoNfds) {
  LabelledNode node;
  node.Feature("n", {{kPciLabel, "true"}, {kKernelLabel, "6.1"}})
      .Feature("g", {{"nvidia.com/a", "1"}});
  node.Round();
  EXPECT_EQ(node.Annotation(names::kNfdFeatureLabelsAnnotation),
            "kernel-version.full,nvidia.com/a,pci-10de.present");
}

// The story of an NFD that is uninstalled without its own clean-up.
TEST(NodeLabels, WhatARemovedNfdLeftIsTakenOverWithoutAGap) {
  LabelledNode node(
      {{kPciLabel, "true"}, {kKernelLabel, "6.1"}, {"feature.node.kubernetes.io/usb-x", "true"}});
  node.node()["metadata"]["annotations"][names::kNfdFeatureLabelsAnnotation] =
      "kernel-version.full,kubernetes.io/os,pci-10de.present,usb-x";
  // Until our worker has described the node, nothing of the labels changes.
  Labels labels = node.Round();
  EXPECT_THAT(labels, IsSupersetOf({Pair(kPciLabel, "true"), Pair(kKernelLabel, "6.1"),
                                    Pair("feature.node.kubernetes.io/usb-x", "true")}));
  EXPECT_EQ(node.Annotation(names::kNfdFeatureLabelsAnnotation),
            "kernel-version.full,kubernetes.io/os,pci-10de.present,usb-x");
  node.Feature("g", {{"nvidia.com/a", "1"}});
  EXPECT_THAT(node.Round(), Contains(Key("feature.node.kubernetes.io/usb-x")));
  // Then what both say stays, without a write of it, and what only NFD said goes.
  node.Worker({{kPciLabel, "true"}, {kKernelLabel, "6.1"}});
  const NodeChange change = node.Decide();
  EXPECT_FALSE(change.set.contains(kPciLabel) || change.set.contains(kKernelLabel));
  EXPECT_THAT(change.remove, ElementsAre("feature.node.kubernetes.io/usb-x"));
  labels = node.Round();
  EXPECT_EQ(node.Annotation(names::kNfdFeatureLabelsAnnotation),
            "kernel-version.full,nvidia.com/a,pci-10de.present");
}

}  // namespace
}  // namespace gantry::gpu_operator
