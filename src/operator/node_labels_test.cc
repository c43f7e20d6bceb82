// SPDX-License-Identifier: Apache-2.0

#include "operator/node_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "operator/rule_set.h"
#include "operator/strip.h"
#include "policy/names.h"
#include "policy/node_feature.h"

namespace gantry::gpu_operator {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr char kPci[] = "feature.node.kubernetes.io/pci-10de.present";
constexpr char kKernel[] = "feature.node.kubernetes.io/kernel-version.full";

// A node, its NodeFeature objects, and what becomes of its labels round after round.
class Labelled {
 public:
  explicit Labelled(Json labels = Json::object()) {
    labels["kubernetes.io/os"] = "linux";
    node_ = {{"metadata",
              {{"name", "n"}, {"labels", std::move(labels)}, {"annotations", Json::object()}}},
             {"spec", Json::object()}};
  }
  Labelled& Feature(const std::string& name, Json labels, const Json& features = Json::object()) {
    features_[name] =
        ProjectFeatures({{"metadata", {{"name", name}, {"labels", {{names::kNfdNodeName, "n"}}}}},
                         {"spec", {{"labels", std::move(labels)}, {"features", features}}}});
    return *this;
  }
  Labelled& NoFeature(const std::string& name) {
    features_.erase(name);
    return *this;
  }
  Labelled& Delete(const std::string& name) {
    deleted_.insert(name);
    return NoFeature(name);
  }
  Labelled& Set(const std::string& label, const char* value) {
    if (value == nullptr) {
      node_["metadata"]["labels"].erase(label);
    } else {
      node_["metadata"]["labels"][label] = value;
    }
    return *this;
  }
  NodeChange Decide() {
    NamedFeatures named;
    for (const auto& [name, facts] : features_) {
      named.emplace_back(name, &facts);
    }
    const NodeFacts facts = ProjectNode(node_, master.nodes);
    std::vector<std::string> gone = SilentOthers("n", facts, named);
    std::erase_if(gone, [this](const std::string& name) { return !deleted_.contains(name); });
    return DecideLabels("n", facts, named, rules, ApplyRuleSet(rule_set_, named, master), gone,
                        foreign_gpus);
  }
  // The NodeFeature object that our worker writes.
  Labelled& Worker(Json labels, const Json& features = Json::object()) {
    const FeatureReading reading{.needs = rule_set_.needs};
    features_["n"] = ProjectFeatures(
        {{"metadata",
          {{"name", "n"},
           {"labels", {{names::kNfdNodeName, "n"}}},
           {"annotations", {{names::kNfdWorkerVersion, policy::OurWorkerVersion()}}}}},
         {"spec", {{"labels", std::move(labels)}, {"features", features}}}},
        reading);
    return *this;
  }
  Labelled& Rules(const std::string& json) {
    rule_set_ = MakeRuleSet({{"object", ParseJson(json).value()}});
    EXPECT_THAT(rule_set_.mistakes, IsEmpty());
    return *this;
  }
  std::string Annotation(const char* key) {
    return node_["metadata"]["annotations"].value(key, "");
  }
  // Decides, applies as the API server would, and sees to it that a second round has nothing to do.
  Labels Round() {
    const NodeChange change = Decide();
    node_.merge_patch(PatchOf(change, node_["spec"].value("taints", Json::array())));
    node_.merge_patch(ResourcePatchOf(change));
    EXPECT_TRUE(Decide().empty());
    return node_["metadata"]["labels"].get<Labels>();
  }
  Json& node() { return node_; }
  LabelRules rules;
  MasterConfig master;
  std::optional<bool> foreign_gpus;

 private:
  RuleSet rule_set_;
  Json node_;
  std::map<std::string, FeatureFacts> features_;
  std::set<std::string> deleted_;
};

TEST(NodeLabels, AGpuNodeIsLabelledInOneRound) {
  Labelled node;
  node.Feature("n", {{kPci, "true"}, {kKernel, "6.1"}});
  const Labels labels = node.Round();
  EXPECT_THAT(labels, IsSupersetOf({Pair(kPci, "true"), Pair(kKernel, "6.1"),
                                    Pair("nvidia.com/gpu.present", "true"),
                                    Pair("nvidia.com/gpu.deploy.device-plugin", "true"),
                                    Pair("nvidia.com/gpu.deploy.operator-validator", "true")}));
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/gpu.deploy.mig-manager"))));
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/gpu.deploy.vfio-manager"))));
}

TEST(NodeLabels, WhatOurValidatorSaidGoesWithIt) {
  Labelled node;
  node.Feature("n", {{kPci, "true"}});
  node.Feature("nvidia-validation-for-n", {{"nvidia.com/gpu.validation", "DriverMissing"}});
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/gpu.validation", "DriverMissing")));
  node.rules.validated = false;
  EXPECT_THAT(node.Round(), Not(Contains(Key("nvidia.com/gpu.validation"))));
  node.rules.validated = true;
  EXPECT_THAT(node.Round(), Contains(Key("nvidia.com/gpu.validation")));
}

TEST(NodeLabels, TheDriverManagerIsToldWhoEmptiesTheNode) {
  Labelled node;
  node.Feature("n", {{kPci, "true"}});
  node.rules.upgrades = true;
  node.Round();
  EXPECT_EQ(node.Annotation(names::kUpgradeEnabled), "true");
  node.rules.upgrades = false;
  node.Round();
  EXPECT_FALSE(node.node()["metadata"]["annotations"].contains(names::kUpgradeEnabled));
  Labelled other;
  other.Feature("n", {{kKernel, "6.1"}});
  other.rules.upgrades = true;
  other.Round();
  EXPECT_EQ(other.Annotation(names::kUpgradeEnabled), "") << "it has no GPU";
}

TEST(NodeLabels, ANodeIsToldWhoseDriverItGetsInTheSameRound) {
  Labelled node;
  node.Feature("n", {{kPci, "true"}});
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
  node.Set(names::kDriverOwner, "d").Feature("n", {{kKernel, "6.1"}});
  node.rules.driver_owner = std::nullopt;
  EXPECT_THAT(node.Round(), Not(Contains(Key(names::kDriverOwner)))) << "its GPU is gone";
}

TEST(NodeLabels, ANodeWithoutGpusGetsItsFeaturesOnly) {
  Labelled node;
  node.Feature("n", {{kKernel, "6.1"}});
  EXPECT_THAT(node.Round(),
              UnorderedElementsAre(Pair("kubernetes.io/os", "linux"), Pair(kKernel, "6.1")));
}

TEST(NodeLabels, NothingGoesBecauseANodeFeatureIsGone) {
  Labelled node;
  node.Feature("n", {{kPci, "true"}}).Feature("g", {{"nvidia.com/gpu.product", "T4"}});
  const Labels before = node.Round();
  node.NoFeature("n").NoFeature("g");
  EXPECT_EQ(node.Round(), before);
  // It comes back with the same labels: still nothing to do.
  node.Feature("n", {{kPci, "true"}});
  EXPECT_EQ(node.Round(), before);
}

TEST(NodeLabels, WhatADeletedObjectOfOthersSaidGoes) {
  Labelled node;
  node.Worker({{kPci, "true"}}).Feature("nvidia-features-for-n", {{"nvidia.com/c", "3"}});
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
  node.Worker({{kPci, "true"}});
  const Labels described = node.Round();
  EXPECT_THAT(described, Not(Contains(Key("vendor.com/d"))));
  EXPECT_THAT(described, Contains(Pair("nvidia.com/c", "3")));
}

TEST(NodeLabels, ALabelGoesWhenItsNodeFeatureIsSeenWithoutIt) {
  Labelled node;
  node.Feature("n", {{kPci, "true"}}).Feature("g", {{"nvidia.com/a", "1"}, {"nvidia.com/b", "2"}});
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
  Labelled node;
  node.Feature("n", {{kPci, "true"}, {kKernel, "6.1"}});
  node.Round();
  node.Feature("n", {{kKernel, "6.1"}});
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
    Labelled ours;
    ours.Worker({{kPci, "true"}, {kKernel, "6.1"}});
    const Labels before = ours.Round();
    ours.Worker({{PciLabelOf(fields), "true"}, {kKernel, "6.1"}});
    Labels after = ours.Round();
    EXPECT_EQ(after.erase(PciLabelOf(fields)), 1U);
    after.emplace(kPci, "true");
    EXPECT_EQ(after, before) << fields;
    Labelled foreign({{kPci, "true"}, {kKernel, "6.1"}});
    foreign.rules.from_features = false;
    foreign.Round();
    foreign.Set(kPci, nullptr).Set(PciLabelOf(fields), "true");
    EXPECT_THAT(foreign.Round(), IsSupersetOf({Pair(names::kGpuPresent, "true"),
                                               Pair("nvidia.com/gpu.deploy.driver", "true")}))
        << fields;
    Labelled fresh({{PciLabelOf(fields), "true"}});
    fresh.rules.from_features = false;
    EXPECT_THAT(fresh.Round(), Contains(Pair(names::kGpuPresent, "true"))) << fields;
  }
}

TEST(NodeLabels, Op1469_AGpuThatRawFeaturesHaveIsThereWithoutALabel) {
  const Json gpu = ParseJson(kGpuPciDevices).value();
  for (const char* fields : {"0302", "1eb8", "0302_1eb8", "10de"}) {
    Labelled ours;
    ours.Worker({{PciLabelOf(fields), "true"}, {kKernel, "6.1"}}, gpu);
    EXPECT_THAT(ours.Round(), IsSupersetOf({Pair(names::kGpuPresent, "true"),
                                            Pair("nvidia.com/gpu.deploy.driver", "true")}))
        << fields;
    Labelled foreign({{PciLabelOf(fields), "true"}, {kKernel, "6.1"}});
    foreign.rules.from_features = false;
    foreign.foreign_gpus = true;
    EXPECT_THAT(foreign.Round(), Contains(Pair(names::kGpuPresent, "true"))) << fields;
  }
}

TEST(NodeLabels, Op1469_AGpuIsGoneWhenRawFeaturesHaveNone) {
  Labelled ours;
  ours.Worker({{PciLabelOf("0302_1eb8"), "true"}}, ParseJson(kGpuPciDevices).value());
  ours.Round();
  // What was left behind by another worker says nothing against ours.
  ours.Feature("old", Json::object(), ParseJson(kGpuPciDevices).value());
  ours.Worker({{PciLabelOf("0300_1a03"), "true"}}, ParseJson(kOtherPciDevices).value());
  EXPECT_THAT(ours.Round(), Contains(Pair(names::kGpuPresent, "false")));
  Labelled foreign({{kPci, "true"}, {kKernel, "6.1"}});
  foreign.rules.from_features = false;
  // Our worker's object, from before that discovery came.
  foreign.Worker({}, ParseJson(kGpuPciDevices).value());
  foreign.foreign_gpus = true;
  foreign.Round();
  foreign.Set(kPci, nullptr);
  foreign.foreign_gpus = false;
  EXPECT_THAT(foreign.Round(), Contains(Pair(names::kGpuPresent, "false")));
}

// A discovery that publishes no raw features.
TEST(NodeLabels, Op1469_WithoutRawFeaturesAGpuStaysWhileItMayBeMeant) {
  Labelled node({{kPci, "true"}, {kKernel, "6.1"}});
  node.rules.from_features = false;
  const Labels before = node.Round();
  node.Set(kPci, nullptr).Set(PciLabelOf("0302_1eb8"), "true");
  EXPECT_THAT(node.Round(), IsSupersetOf({Pair(names::kGpuPresent, "true"),
                                          Pair("nvidia.com/gpu.deploy.driver", "true")}));
  node.Set(PciLabelOf("0302_1eb8"), nullptr).Set(PciLabelOf("0300_1a03"), "true");
  node.node()["status"]["capacity"]["nvidia.com/gpu"] = "2";
  EXPECT_THAT(node.Round(), Contains(Pair(names::kGpuPresent, "true"))) << "the kubelet offers it";
  node.node()["status"]["capacity"]["nvidia.com/gpu"] = "0";
  EXPECT_THAT(node.Round(), Contains(Pair(names::kGpuPresent, "false")));
  Labelled fresh({{PciLabelOf("0302_1eb8"), "true"}});
  fresh.rules.from_features = false;
  EXPECT_THAT(fresh.Round(), Not(Contains(Key(names::kGpuPresent))));
}

TEST(NodeLabels, Op2288_WhatSomebodyWroteStaysWhileTheGpuIsAway) {
  Labelled node({{"nvidia.com/gpu.deploy.device-plugin", "false"},
                 {"nvidia.com/gpu.deploy.vfio-manager", "mine"}});
  node.Worker({{kPci, "true"}, {kKernel, "6.1"}});
  node.Round();
  node.Set("nvidia.com/gpu.deploy.dcgm", "paused-for-driver-upgrade");
  node.Set("nvidia.com/gpu.deploy.mig-manager", "paused-for-mig-change");
  node.Set("nvidia.com/gpu.deploy.driver", "pre-installed");
  node.Worker({{kKernel, "6.1"}});
  const Labels away = node.Round();
  EXPECT_THAT(away, IsSupersetOf({Pair(names::kGpuPresent, "false"),
                                  Pair("nvidia.com/gpu.deploy.device-plugin", "false"),
                                  Pair("nvidia.com/gpu.deploy.vfio-manager", "mine")}));
  for (const char* operand : {"dcgm", "mig-manager", "driver", "operator-validator"}) {
    EXPECT_THAT(away, Not(Contains(Key(std::string(names::kDeployPrefix) + operand))));
  }
  node.Worker({{kPci, "true"}, {kKernel, "6.1"}});
  EXPECT_THAT(node.Round(), IsSupersetOf({Pair(names::kGpuPresent, "true"),
                                          Pair("nvidia.com/gpu.deploy.dcgm", "true"),
                                          Pair("nvidia.com/gpu.deploy.device-plugin", "false")}));
}

TEST(NodeLabels, AForeignDiscoveryThatFallsSilentTakesNothing) {
  Labelled node({{kPci, "true"}, {kKernel, "6.1"}});
  node.rules.from_features = false;
  const Labels before = node.Round();
  EXPECT_THAT(before, Contains(Pair("nvidia.com/gpu.present", "true")));
  node.Set(kPci, nullptr).Set(kKernel, nullptr);
  const Labels silent = node.Round();
  EXPECT_THAT(silent, Contains(Pair("nvidia.com/gpu.present", "true")));
  EXPECT_THAT(silent, Contains(Key("nvidia.com/gpu.deploy.device-plugin")));
  // It speaks again, and names no GPU.
  node.Set(kKernel, "6.1");
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/gpu.present", "false")));
}

TEST(NodeLabels, ForeignFeatureLabelsAreNotWritten) {
  Labelled node(Json{{kPci, "true"}});
  node.rules.from_features = false;
  node.Feature("g", {{"nvidia.com/gpu.product", "T4"}});
  EXPECT_THAT(node.Round(), Not(Contains(Key("nvidia.com/gpu.product"))));
}

TEST(NodeLabels, WhatSomebodySetIsRespected) {
  Labelled node({{"nvidia.com/gpu.deploy.dcgm", "false"},
                 {"nvidia.com/gpu.deploy.device-plugin", "paused-for-driver-upgrade"},
                 {"nvidia.com/gpu.deploy.driver", ""}});
  node.Feature("n", {{kPci, "true"}});
  EXPECT_THAT(
      node.Round(),
      IsSupersetOf({Pair("nvidia.com/gpu.deploy.dcgm", "false"),
                    Pair("nvidia.com/gpu.deploy.device-plugin", "paused-for-driver-upgrade"),
                    Pair("nvidia.com/gpu.deploy.driver", "true")}));
}

TEST(NodeLabels, AMigManagerGetsItsDefaultLabel) {
  Labelled node;
  node.rules.mig_default = "all-disabled";
  node.Feature("n", {{kPci, "true"}}).Feature("g", {{"nvidia.com/mig.capable", "true"}});
  EXPECT_THAT(node.Round(), IsSupersetOf({Pair("nvidia.com/mig.config", "all-disabled"),
                                          Pair("nvidia.com/gpu.deploy.mig-manager", "true")}));
  node.Set("nvidia.com/mig.config", "all-balanced");
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/mig.config", "all-balanced")));
  Labelled plain;
  plain.rules.mig_default = "all-disabled";
  plain.Feature("n", {{kPci, "true"}});
  EXPECT_THAT(plain.Round(), Not(Contains(Key("nvidia.com/mig.config"))));
}

TEST(NodeLabels, TheSwitchOfANodeTakesAllOperands) {
  Labelled node;
  node.Feature("n", {{kPci, "true"}});
  node.Round();
  node.Set("nvidia.com/gpu.deploy.operands", "false");
  const Labels labels = node.Round();
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/gpu.deploy.device-plugin"))));
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gpu.present", "true")));
  node.Set("nvidia.com/gpu.deploy.operands", nullptr);
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/gpu.deploy.device-plugin", "true")));
}

TEST(NodeLabels, ARemovedLabelComesBack) {
  Labelled node;
  node.Feature("n", {{kPci, "true"}});
  const Labels before = node.Round();
  node.Set(kPci, nullptr).Set("nvidia.com/gpu.present", nullptr);
  node.Set("nvidia.com/gpu.deploy.device-plugin", nullptr);
  EXPECT_EQ(node.Round(), before);
}

TEST(NodeLabels, TheMigManagerGoesWhereGpusCanBeDivided) {
  const auto has = [](const Json& features, Json labels = Json::object()) {
    Labelled node(std::move(labels));
    node.Feature("g", features).Feature("n", {{kPci, "true"}});
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
    Labelled node({{"nvidia.com/gpu.deploy.device-plugin", "true"},
                   {"nvidia.com/gpu.deploy.mig-manager", "true"}});
    if (workload != nullptr) {
      node.Set("nvidia.com/gpu.workload.config", workload);
    }
    node.rules.sandbox = true;
    node.rules.sandbox_mode = mode;
    node.rules.default_workload = "vm-vgpu";
    node.Feature("n", {{kPci, "true"}});
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
  Labelled node(Json{{"nvidia.com/gpu.present", "true"}});
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/gpu.deploy.device-plugin", "true")));
  EXPECT_TRUE(IsGpuNode(ProjectNode(node.node())));
  EXPECT_FALSE(IsGpuNode(ProjectNode(Labelled().node())));
}

TEST(NodeLabels, RulesComeFromThePolicy) {
  policy::ClusterPolicy policy;
  policy.sandbox = true;
  policy.sandbox_mode = "kata";
  policy.default_workload = "vm-vgpu";
  EXPECT_EQ(RulesOf(policy, true), (LabelRules{false, true, "kata", "vm-vgpu"}));
  policy.mig_manager.enabled = true;
  EXPECT_EQ(RulesOf(policy, true).mig_default, "") << "it has no image, so it is not deployed";
  policy.mig_manager.image = {"r", "i", "v", "", {}};
  EXPECT_EQ(RulesOf(policy, true).mig_default, "all-disabled");
}

TEST(NodeLabels, ALaterObjectWins) {
  Labelled node;
  node.Feature("a", {{"nvidia.com/x", "first"}}).Feature("b", {{"nvidia.com/x", "second"}});
  EXPECT_THAT(node.Round(), Contains(Pair("nvidia.com/x", "second")));
}

TEST(NodeLabels, TheRecordIsAlsoNfds) {
  Labelled node;
  node.Feature("n", {{kPci, "true"}, {kKernel, "6.1"}}).Feature("g", {{"nvidia.com/a", "1"}});
  node.Round();
  EXPECT_EQ(node.Annotation(names::kNfdFeatureLabelsAnnotation),
            "kernel-version.full,nvidia.com/a,pci-10de.present");
}

// The story of an NFD that is uninstalled without its own clean-up.
TEST(NodeLabels, WhatARemovedNfdLeftIsTakenOverWithoutAGap) {
  Labelled node({{kPci, "true"}, {kKernel, "6.1"}, {"feature.node.kubernetes.io/usb-x", "true"}});
  node.node()["metadata"]["annotations"][names::kNfdFeatureLabelsAnnotation] =
      "kernel-version.full,kubernetes.io/os,pci-10de.present,usb-x";
  // Until our worker has described the node, nothing of the labels changes.
  Labels labels = node.Round();
  EXPECT_THAT(labels, IsSupersetOf({Pair(kPci, "true"), Pair(kKernel, "6.1"),
                                    Pair("feature.node.kubernetes.io/usb-x", "true")}));
  EXPECT_EQ(node.Annotation(names::kNfdFeatureLabelsAnnotation),
            "kernel-version.full,kubernetes.io/os,pci-10de.present,usb-x");
  node.Feature("g", {{"nvidia.com/a", "1"}});
  EXPECT_THAT(node.Round(), Contains(Key("feature.node.kubernetes.io/usb-x")));
  // Then what both say stays, without a write of it, and what only NFD said goes.
  node.Worker({{kPci, "true"}, {kKernel, "6.1"}});
  const NodeChange change = node.Decide();
  EXPECT_FALSE(change.set.contains(kPci) || change.set.contains(kKernel));
  EXPECT_THAT(change.remove, ElementsAre("feature.node.kubernetes.io/usb-x"));
  labels = node.Round();
  EXPECT_EQ(node.Annotation(names::kNfdFeatureLabelsAnnotation),
            "kernel-version.full,nvidia.com/a,pci-10de.present");
}

constexpr char kRules[] = R"([
  {"name": "modules", "labels": {"nvidia.com/gds.capable": "true", "kubernetes.io/evil": "x",
    "nvidia.com/gpu.deploy.driver": "true"}, "annotations": {"note": "hello"},
    "extendedResources": {"vendor.com/dongle": "2000"},
    "taints": [{"key": "vendor.com/special", "value": "yes", "effect": "NoSchedule"}],
    "matchFeatures": [{"feature": "kernel.loadedmodule",
      "matchExpressions": {"nvidia_fs": {"op": "Exists"}}}]}])";
const Json kLoaded = {
    {"flags",
     {{"kernel.loadedmodule",
       {{"elements", {{"nvidia_fs", Json::object()}, {"other", Json::object()}}}}}}}};

TEST(NodeFeatureRules, BringLabelsAnnotationsResourcesAndTaints) {
  Labelled node;
  node.master.taints = true;
  node.node()["spec"]["taints"] =
      Json::array({{{"key", "mine"}, {"effect", "NoExecute"}, {"timeAdded", "2026"}}});
  node.Rules(kRules).Worker({{kPci, "true"}}, kLoaded);
  Labels labels = node.Round();
  EXPECT_THAT(labels, Contains(Pair("nvidia.com/gds.capable", "true")));
  EXPECT_FALSE(labels.contains("kubernetes.io/evil"));
  EXPECT_EQ(node.Decide().rejected_labels, 2);
  EXPECT_EQ(node.Decide().rejected_taints, 0);
  EXPECT_EQ(node.Annotation("feature.node.kubernetes.io/note"), "hello");
  EXPECT_EQ(node.Annotation(names::kNfdFeatureAnnotations), "note");
  EXPECT_EQ(node.Annotation(names::kNfdExtendedResources), "vendor.com/dongle");
  EXPECT_EQ(node.Annotation(names::kNfdTaints), "vendor.com/special=yes:NoSchedule");
  EXPECT_EQ(node.node()["status"]["capacity"]["vendor.com/dongle"], "2000");
  EXPECT_EQ(node.node()["spec"]["taints"].size(), 2U);
  // The API server's own form of the number is the same number.
  node.node()["status"]["capacity"]["vendor.com/dongle"] = "2k";
  EXPECT_TRUE(node.Decide().empty());
  // The rule holds no more: everything of it goes, what is others' stays.
  node.Worker({{kPci, "true"}},
              {{"flags", {{"kernel.loadedmodule", {{"elements", Json::object()}}}}}});
  labels = node.Round();
  EXPECT_FALSE(labels.contains("nvidia.com/gds.capable"));
  EXPECT_EQ(node.Annotation("feature.node.kubernetes.io/note"), "");
  EXPECT_FALSE(node.node()["status"]["capacity"].contains("vendor.com/dongle"));
  EXPECT_EQ(node.node()["spec"]["taints"],
            Json::array({{{"key", "mine"}, {"effect", "NoExecute"}, {"timeAdded", "2026"}}}));
}

TEST(NodeFeatureRules, AnInstanceKeepsItsOwnRecords) {
  Labelled node(Json::object({{"feature.node.kubernetes.io/theirs", "1"}}));
  node.node()["metadata"]["annotations"] = {{names::kNfdFeatureLabelsAnnotation, "theirs"}};
  node.master.nodes.instance = "gpu";
  node.master.taints = true;
  node.Rules(kRules).Worker({{kPci, "true"}}, kLoaded);
  EXPECT_THAT(node.Round(), Contains(Key("feature.node.kubernetes.io/theirs")));
  EXPECT_EQ(node.Annotation(names::kNfdFeatureLabelsAnnotation), "theirs");
  EXPECT_EQ(node.Annotation("gpu.nfd.node.kubernetes.io/feature-labels"),
            "nvidia.com/gds.capable,pci-10de.present");
  EXPECT_EQ(node.Annotation("gpu.nfd.node.kubernetes.io/feature-annotations"), "note");
  EXPECT_EQ(node.Annotation("gpu.nfd.node.kubernetes.io/extended-resources"), "vendor.com/dongle");
  EXPECT_EQ(node.Annotation("gpu.nfd.node.kubernetes.io/taints"),
            "vendor.com/special=yes:NoSchedule");
  // An uninstallation knows them too, and leaves the others' alone.
  node.node().merge_patch(StripResources(node.node(), "gpu"));
  node.node().merge_patch(StripNode(node.node(), "gpu"));
  EXPECT_THAT(node.node()["metadata"]["annotations"].get<Labels>(),
              ElementsAre(Pair(names::kNfdFeatureLabelsAnnotation, "theirs")));
  EXPECT_THAT(node.node()["metadata"]["labels"].get<Labels>(),
              ElementsAre(Pair("feature.node.kubernetes.io/theirs", "1"),
                          Pair("kubernetes.io/os", "linux")));
  EXPECT_TRUE(node.node()["status"]["capacity"].empty());
  EXPECT_TRUE(node.node()["spec"]["taints"].empty());
  EXPECT_TRUE(StripResources(node.node(), "gpu").is_null());
}

TEST(NodeFeatureRules, WhatOthersHavePutThereStaysWhereNothingMayBeOverwritten) {
  constexpr char kRack[] = "feature.node.kubernetes.io/rack";
  Labelled node(Json::object({{kRack, "by hand"}}));
  node.node()["metadata"]["annotations"]["feature.node.kubernetes.io/note"] = "mine";
  node.node()["status"]["capacity"]["vendor.com/dongle"] = "7";
  node.master.nodes.others = true;
  node.Rules(kRules).Worker({{kPci, "true"}, {"rack", "r2"}}, kLoaded);
  EXPECT_THAT(node.Round(), IsSupersetOf({Pair(kRack, "by hand"), Pair(kPci, "true"),
                                          Pair("nvidia.com/gds.capable", "true")}));
  EXPECT_EQ(node.Annotation("feature.node.kubernetes.io/note"), "mine");
  EXPECT_EQ(node.Annotation(names::kNfdFeatureAnnotations), "");
  EXPECT_EQ(node.node()["status"]["capacity"]["vendor.com/dongle"], "7");
  EXPECT_EQ(node.Annotation(names::kNfdExtendedResources), "");
  // What is ours is changed as ever, and a key that its owner gives up becomes ours.
  node.Set(kRack, nullptr).Set("nvidia.com/gds.capable", "false");
  EXPECT_THAT(node.Round(),
              IsSupersetOf({Pair(kRack, "r2"), Pair("nvidia.com/gds.capable", "true")}));
  node.Worker({{kPci, "true"}, {"rack", "r3"}}, kLoaded);
  EXPECT_THAT(node.Round(), Contains(Pair(kRack, "r3")));
  // Without the restriction the others' are taken over.
  node.Set(kRack, "by hand");
  node.master.nodes.others = false;
  EXPECT_THAT(node.Round(), Contains(Pair(kRack, "r3")));
  EXPECT_EQ(node.Annotation("feature.node.kubernetes.io/note"), "hello");
}

TEST(NodeFeatureRules, WhatTheySaidStaysWhileTheNodeIsNotDescribed) {
  Labelled node;
  node.Rules(kRules).Worker({{kPci, "true"}}, kLoaded);
  const Labels before = node.Round();
  node.NoFeature("n");
  EXPECT_EQ(node.Round(), before);
  EXPECT_EQ(node.Annotation("feature.node.kubernetes.io/note"), "hello");
}

TEST(NodeFeatureRules, GoOnWhileAnObjectOfOthersIsSilent) {
  const Json unloaded = {{"flags", {{"kernel.loadedmodule", {{"elements", Json::object()}}}}}};
  Labelled node;
  node.master.taints = true;
  node.Rules(kRules).Worker({{kPci, "true"}}, kLoaded).Feature("vendor", {{"vendor.com/a", "1"}});
  node.Round();
  node.NoFeature("vendor").Worker({{kPci, "true"}}, unloaded);
  const Labels labels = node.Round();
  EXPECT_FALSE(labels.contains("nvidia.com/gds.capable"));
  EXPECT_EQ(node.Annotation(names::kNfdFeatureAnnotations), "");
  EXPECT_EQ(node.Annotation(names::kNfdExtendedResources), "");
  EXPECT_EQ(node.Annotation(names::kNfdTaints), "");
  EXPECT_THAT(labels, Contains(Pair("vendor.com/a", "1")));
}

TEST(NodeFeatureRules, BringWhatIsNewAndKeepWhatWasWhileTheNodeIsHalfDescribed) {
  Labelled node;
  node.master.taints = true;
  node.Rules(kRules).Worker({{kPci, "true"}}, kLoaded);
  node.Feature("nvidia-features-for-n", {{"nvidia.com/c", "3"}});
  node.Round();
  node.NoFeature("nvidia-features-for-n").Rules(R"([{"name": "new", "labels": {"new": "1"},
    "annotations": {"new": "1"}, "extendedResources": {"vendor.com/new": "1"}, "taints": [
      {"key": "vendor.com/new", "effect": "NoSchedule"},
      {"key": "vendor.com/special", "value": "no", "effect": "NoSchedule"}]}])");
  node.Worker({{kPci, "true"}});
  EXPECT_THAT(node.Round(), IsSupersetOf({Pair("nvidia.com/gds.capable", "true"),
                                          Pair("feature.node.kubernetes.io/new", "1")}));
  EXPECT_EQ(node.Annotation(names::kNfdFeatureAnnotations), "new,note");
  EXPECT_EQ(node.Annotation(names::kNfdExtendedResources), "vendor.com/dongle,vendor.com/new");
  EXPECT_EQ(node.Annotation(names::kNfdTaints),
            "vendor.com/new:NoSchedule,vendor.com/special=no:NoSchedule");
  EXPECT_EQ(node.node()["spec"]["taints"].size(), 2U) << "one of a key is exchanged";
  // All is described again: what no rule says goes.
  node.Feature("nvidia-features-for-n", {{"nvidia.com/c", "3"}});
  EXPECT_FALSE(node.Round().contains("nvidia.com/gds.capable"));
  EXPECT_EQ(node.Annotation(names::kNfdFeatureAnnotations), "new");
  EXPECT_EQ(node.Annotation(names::kNfdExtendedResources), "vendor.com/new");
}

TEST(NodeFeatureRules, TaintOnlyWhereAllowed) {
  Labelled node;
  node.Rules(kRules).Worker({{kPci, "true"}, {"kubernetes.io/evil", "x"}}, kLoaded);
  EXPECT_EQ(node.Decide().rejected_taints, 1);
  EXPECT_EQ(node.Decide().rejected_labels, 3);
  node.Round();
  EXPECT_FALSE(node.node()["spec"].contains("taints"));
  EXPECT_EQ(node.Annotation(names::kNfdTaints), "");
}

TEST(NodeFeatureRules, AreConfiguredAsNfdsMaster) {
  const auto config = ParseMasterConfig(
      "{extraLabelNs: [a.kubernetes.io], denyLabelNs: ['*.b'], enableTaints: true, noPublish: true,"
      " klog: {}, restrictions: {disableLabels: true, disableAnnotations: true,"
      " disableExtendedResources: true, allowOverwrite: false,"
      " nodeFeatureNamespaceSelector: {matchLabels: {a: b}}}}");
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_TRUE(config->taints);
  EXPECT_FALSE(config->publish || config->labels || config->rule_annotations ||
               config->rule_resources);
  EXPECT_THAT(config->label_policy.allow, ElementsAre("a.kubernetes.io"));
  EXPECT_TRUE(config->nodes.others);
  EXPECT_EQ(config->feature_spaces, "a=b");
  const MasterConfig defaults = ParseMasterConfig("").value();
  EXPECT_TRUE(defaults.publish && defaults.labels && defaults.others_labels);
  EXPECT_EQ(defaults.label_policy.white_list, nullptr);
  EXPECT_FALSE(ParseMasterConfig("{labelWhiteList: (}").has_value());
  EXPECT_FALSE(defaults.nodes.others || defaults.feature_spaces.has_value());
  EXPECT_FALSE(
      ParseMasterConfig("{restrictions: {nodeFeatureNamespaceSelector: {a: b}}}").has_value());
  EXPECT_EQ(ParseInstance("network-1").value(), "network-1");
  EXPECT_EQ(ParseInstance("").value(), "");
  EXPECT_FALSE(ParseInstance("net/work").has_value() || ParseInstance("-x").has_value());
  // nfd#2074: a key of another version of NFD had no effect, without a word.
  EXPECT_THAT(config->warnings, IsEmpty());
  EXPECT_THAT(
      ParseMasterConfig("{autoDefaultNs: false, restrictions: {disableLabel: true}}")->warnings,
      ElementsAre("autoDefaultNs: unknown key, has no effect",
                  "restrictions.disableLabel: unknown key, has no effect"));
  EXPECT_TRUE(ParseMasterConfig("{EnableTaints: yes}")->taints);
  EXPECT_FALSE(ParseMasterConfig("{enableTaints: 1}").has_value());
  EXPECT_FALSE(ParseMasterConfig("[]").has_value());
  EXPECT_FALSE(ParseMasterConfig("{denyLabelNs: x}").has_value());
  EXPECT_FALSE(ParseMasterConfig("{denyLabelNs: [1]}").has_value());
  Labelled node;
  node.master = *config;
  node.Rules(kRules).Worker({{kPci, "true"}}, kLoaded);
  EXPECT_FALSE(node.Round().contains("nvidia.com/gds.capable"));
  EXPECT_EQ(node.Annotation("feature.node.kubernetes.io/note"), "");
}

// What an NFD's master with this configuration makes of an object with these labels.
Labels Heard(const std::string& config, const std::string& name, const std::string& space,
             const Json& labels) {
  const MasterConfig master = ParseMasterConfig(config).value();
  const FeatureFacts facts = ProjectFeatures(
      {{"metadata",
        {{"name", name}, {"namespace", space}, {"labels", {{names::kNfdNodeName, "n"}}}}},
       {"spec", {{"labels", labels}}}},
      {.needs = {},
       .label_policy = master.label_policy,
       .spaces = {"other"},
       .labels = master.labels,
       .others_labels = master.others_labels});
  return UnpackLabels(facts.labels);
}

TEST(NodeFeatures, AreRestrictedAsByNfdsMaster) {
  const Json labels = {{kPci, "true"}, {"vendor.io/cpu", "1"}, {"rack", "r2"}};
  constexpr char kRack[] = "feature.node.kubernetes.io/rack";
  EXPECT_THAT(Heard("", "vendor", "ours", labels),
              UnorderedElementsAre(Key(kPci), Key("vendor.io/cpu"), Key(kRack)));
  // The operator goes by some labels itself: they come whatever is asked.
  EXPECT_THAT(Heard("{restrictions: {disableLabels: true}}", "n", "ours", labels),
              UnorderedElementsAre(Key(kPci)));
  EXPECT_THAT(Heard("{denyLabelNs: ['*']}", "n", "ours", labels), UnorderedElementsAre(Key(kPci)));
  const Json system = {{names::kSystemId, "rocky"},
                       {names::kSystemVersion, "9.4"},
                       {names::kSystemMajor, "9"},
                       {names::kKernelVersion, "5.14"}};
  EXPECT_EQ(Heard("{restrictions: {disableLabels: true}}", "n", "ours", system).size(), 4U);
  EXPECT_THAT(Heard("{labelWhiteList: ^cpu}", "n", "ours", labels),
              UnorderedElementsAre(Key(kPci), Key("vendor.io/cpu")));
  const std::string deny = "{restrictions: {denyNodeFeatureLabels: true}}";
  EXPECT_THAT(Heard(deny, "vendor", "ours", labels), IsEmpty());
  EXPECT_THAT(Heard(deny, "n", "other", labels), IsEmpty());
  for (const char* name : {"n", "nvidia-features-for-n", "nvidia-validation-for-n"}) {
    EXPECT_EQ(Heard(deny, name, "ours", labels).size(), 3U) << name;
  }
  EXPECT_THAT(Heard(deny, "nvidia-features-for-m", "ours", labels), IsEmpty());
}

TEST(NodeFeatures, AKeyWithItsPrefixWinsOverTheBareOne) {
  const Json labels = {{"a", "bare"}, {"feature.node.kubernetes.io/a", "full"}};
  EXPECT_THAT(Heard("", "n", "ours", labels),
              UnorderedElementsAre(Pair("feature.node.kubernetes.io/a", "full")));
  Labelled node;
  node.Rules(R"([{"name": "a", "labels": {"a": "bare", "feature.node.kubernetes.io/a": "full"},
                  "annotations": {"a": "bare", "feature.node.kubernetes.io/a": "full"},
                  "extendedResources": {"a": "1", "feature.node.kubernetes.io/a": "2"}},
                 {"name": "b", "labels": {"b": "1"}}])");
  node.Worker({{kPci, "true"}});
  EXPECT_THAT(node.Round(), Contains(Pair("feature.node.kubernetes.io/a", "full")));
  EXPECT_EQ(node.Annotation("feature.node.kubernetes.io/a"), "full");
  EXPECT_EQ(node.node()["status"]["capacity"]["feature.node.kubernetes.io/a"], "2");
}

TEST(NodeFeatureRules, AMistakeLeavesOutItsRuleAlone) {
  const RuleSet set =
      MakeRuleSet({{"bad", Json::object()},
                   {"some", {{{"name", "a"}}, {{"name", "b"}, {"labels", 1}}}, "u", 3}});
  EXPECT_THAT(set.mistakes,
              ElementsAre(nfd::RuleMistake{"bad", "", 0, "*", "rules: must be a list"},
                          nfd::RuleMistake{"some", "u", 3, "b", "rule b.labels: must be a map"}));
  ASSERT_EQ(set.objects.size(), 2U);
  EXPECT_EQ(set.objects[1].rules.size(), 1U);
  // A taint that Kubernetes would refuse, and with it the whole patch.
  Labelled node;
  node.master.taints = true;
  node.Rules(R"([{"name": "a", "labels": {"a": "1"}, "taints": [
    {"key": "vendor.com/bad", "effect": "Kill"}, {"key": "vendor.com/b", "value": "a b", "effect": "NoSchedule"},
    {"key": "vendor.com/good", "effect": "NoSchedule"}]}])");
  node.Worker({{kPci, "true"}});
  EXPECT_EQ(node.Decide().rejected_taints, 2);
  EXPECT_THAT(node.Round(), Contains(Pair("feature.node.kubernetes.io/a", "1")));
  EXPECT_EQ(node.Annotation(names::kNfdTaints), "vendor.com/good:NoSchedule");
}

// nfd#2408: labels were removed and added again at nearly every restart of the master.
TEST(Replays, Nfd2408AMasterThatStartsRemovesNothing) {
  Labelled node;
  node.Rules(kRules).Worker({{kPci, "true"}}, kLoaded).Feature("g", {{"nvidia.com/a", "1"}});
  const Labels before = node.Round();
  // It has seen the node, and of its objects none, one, the other, both.
  node.NoFeature("n").NoFeature("g");
  EXPECT_EQ(node.Round(), before);
  node.Feature("g", {{"nvidia.com/a", "1"}});
  EXPECT_EQ(node.Round(), before);
  node.Worker({{kPci, "true"}}, kLoaded);
  EXPECT_TRUE(node.Decide().empty());
}

// op#580: node feature discovery died in the middle of labelling, gpu.present became false, and the
// device plugin went.
TEST(Replays, Op580HalfOfTheLabelsTakeNoOperandAway) {
  Labelled node;
  node.Worker({{kPci, "true"}, {kKernel, "6.1"}});
  const Labels before = node.Round();
  node.Set(kPci, nullptr).Set(kKernel, nullptr);
  EXPECT_EQ(node.Round(), before);
  Labelled foreign({{kPci, "true"}, {kKernel, "6.1"}});
  foreign.rules.from_features = false;
  const Labels labelled = foreign.Round();
  foreign.Set(kPci, nullptr).Set(kKernel, nullptr);
  EXPECT_THAT(foreign.Round(), IsSupersetOf({Pair("nvidia.com/gpu.present", "true"),
                                             Pair("nvidia.com/gpu.deploy.device-plugin", "true")}));
}

TEST(NodeFeatures, MayNotWriteLabelsThatOthersTrust) {
  const FeatureFacts facts =
      ProjectFeatures({{"metadata", {{"labels", {{names::kNfdNodeName, "n"}}}}},
                       {"spec",
                        {{"labels",
                          {{"node-role.kubernetes.io/control-plane", "x"},
                           {"kubernetes.io/os", "windows"},
                           {"evil.k8s.io/x", "x"},
                           {"nvidia.com/gpu.present", "true"},
                           {"nvidia.com/gpu.deploy.driver", "true"},
                           {"nvidia.com/gpu-operator.driver.owner", "d"},
                           {"nvidia.com/bad value", "x"},
                           {"nvidia.com/long", std::string(64, 'x')},
                           {"nvidia.com/number", 5},
                           {"short", "becomes-a-feature"},
                           {"sub.profile.node.kubernetes.io/x", "1"},
                           {"feature.node.kubernetes.io/x", ""},
                           {"notkubernetes.io/x", "1"}}}}}});
  EXPECT_EQ(facts.node, "n");
  EXPECT_FALSE(facts.foreign);
  EXPECT_THAT(UnpackLabels(facts.labels),
              UnorderedElementsAre(Pair("feature.node.kubernetes.io/short", "becomes-a-feature"),
                                   Pair("sub.profile.node.kubernetes.io/x", "1"),
                                   Pair("feature.node.kubernetes.io/x", ""),
                                   Pair("notkubernetes.io/x", "1")));
  EXPECT_EQ(ProjectFeatures(Json::object()), FeatureFacts{});
}

TEST(NodeFeatures, WhatTheValidatorFindsBrokenIsKept) {
  const auto broken = [](const std::string& name, const char* word) {
    return ProjectFeatures({{"metadata",
                             {{"name", name},
                              {"labels", {{names::kNfdNodeName, "n"}}},
                              {"annotations",
                               {{names::kValidationMessage, std::string(499, 'x') + "\u00e4"}}}}},
                            {"spec", {{"labels", {{names::kGpuValidation, word}}}}}})
        .broken;
  };
  EXPECT_EQ(broken("nvidia-validation-for-n", "DriverNotInstalled"), std::string(499, 'x'));
  EXPECT_EQ(broken("nvidia-validation-for-n", "ready"), "");
  EXPECT_EQ(broken("nvidia-features-for-n", "DriverNotInstalled"), "") << "who are they to say";
}

TEST(NodeFeatures, AnotherWorkersVersionIsForeign) {
  const auto foreign = [](const std::string& version) {
    return ProjectFeatures({{"metadata", {{"annotations", {{names::kNfdWorkerVersion, version}}}}}})
        .foreign;
  };
  EXPECT_TRUE(foreign("v0.18.3"));
  EXPECT_FALSE(foreign(policy::OurWorkerVersion()));
}

TEST(NodeFacts, KeepsWhatDecides) {
  const Json node = {
      {"metadata",
       {{"labels",
         {{"kubernetes.io/os", "linux"},
          {"nvidia.com/gpu.present", "true"},
          {"feature.node.kubernetes.io/cpu-cpuid.AVX", "true"},
          {"vendor.example/x", "1"},
          {"vendor.example/y", "1"}}},
        {"annotations",
         {{names::kFeatureLabelsAnnotation, "o:vendor.example/x"},
          {names::kNfdFeatureLabelsAnnotation, "a,b"}}}}},
      {"spec",
       {{"taints", Json::array({{{"key", "k"}, {"value", "v"}, {"effect", "NoSchedule"}}})}}},
      {"status",
       {{"capacity", {{"cpu", "8"}, {"nvidia.com/mig-1g.10gb", "7"}}},
        {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})},
        {"nodeInfo", {{"containerRuntimeVersion", "containerd://2.0.1"}}}}}};
  const NodeFacts facts = ProjectNode(node);
  EXPECT_EQ(facts.labels, "nvidia.com/gpu.present=true\nvendor.example/x=1\n");
  EXPECT_TRUE(facts.described && facts.linux && facts.ready);
  EXPECT_FALSE(facts.foreign_nfd);
  EXPECT_EQ(facts.nfd_labels, "a,b");
  EXPECT_TRUE(facts.gpu_resource);
  EXPECT_EQ(facts.runtime, "containerd");
  EXPECT_THAT(facts.taints, ElementsAre(Taint{"k", "v", "NoSchedule"}));
  EXPECT_EQ(ProjectNode(Json::object()), NodeFacts{});
  EXPECT_FALSE(ProjectNode({{"status", {{"capacity", {{"nvidia.com/gpu", "0"}}}}}}).gpu_resource);
}

TEST(NodeFacts, AnNfdWithoutNodeFeaturesIsForeign) {
  EXPECT_TRUE(ProjectNode({{"metadata", {{"annotations", {{names::kNfdMasterVersion, "v0.12"}}}}}})
                  .foreign_nfd);
}

TEST(NodeFacts, TaintsAreReadAsTheyAreWritten) {
  const std::vector<Taint> taints = {{"a/b", "c", "NoSchedule"}, {"d", "", "NoExecute"}};
  EXPECT_EQ(FormatTaints(taints), "a/b=c:NoSchedule,d:NoExecute");
  EXPECT_EQ(ParseTaints("a/b=c:NoSchedule,d:NoExecute"), taints);
  EXPECT_THAT(ParseTaints("nonsense"), IsEmpty());
}

TEST(NodeFacts, SourcesAreReadAsTheyAreWritten) {
  const FeatureSources sources = {{"a", {"x/1", "x/2"}}, {"b", {"y/1"}}};
  EXPECT_EQ(FormatSources(sources), "a:x/1,x/2;b:y/1");
  EXPECT_EQ(ParseSources("a:x/1,x/2;b:y/1"), sources);
  EXPECT_EQ(FormatSources({{"a", {"feature.node.kubernetes.io/x"}}}), "a:x");
  EXPECT_EQ(ParseSources("a:x"), (FeatureSources{{"a", {"feature.node.kubernetes.io/x"}}}));
  EXPECT_EQ(
      FormatNfdLabels({{"a", {"x/1", "x/2"}}, {"b", {"x/1", "feature.node.kubernetes.io/y"}}}),
      "x/1,x/2,y");
  EXPECT_THAT(ParseSources(""), IsEmpty());
  EXPECT_THAT(ParseSources("nonsense"), IsEmpty());
  EXPECT_THAT(SourceNames("a:x/1,x/2;b:y/1"), ElementsAre("a", "b"));
  EXPECT_THAT(SourceNames("nonsense"), IsEmpty());
}

TEST(Strip, TakesWhatTheOperatorPutThere) {
  Labelled node({{"nvidia.com/gpu.deploy.dcgm", "false"},
                 {"nvidia.com/gpu.deploy.driver", "paused-for-driver-upgrade"},
                 {"nvidia.com/mine", "1"}});
  node.Feature("n", {{kPci, "true"}}).Feature("g", {{"nvidia.com/gpu.product", "T4"}});
  node.Round();
  const Json patch = StripNode(node.node());
  node.node().merge_patch(patch);
  EXPECT_THAT(node.node()["metadata"]["labels"].get<Labels>(),
              UnorderedElementsAre(Pair("kubernetes.io/os", "linux"),
                                   Pair("nvidia.com/gpu.deploy.dcgm", "false"),
                                   Pair("nvidia.com/mine", "1")));
  EXPECT_TRUE(node.node()["metadata"]["annotations"].empty());
  EXPECT_TRUE(StripNode(node.node()).is_null());
  EXPECT_TRUE(StripNode(Json::object()).is_null());
}

TEST(Strip, KnowsItsOwnNodeFeatures) {
  EXPECT_TRUE(IsOurNodeFeature({{"metadata", {{"name", "nvidia-features-for-n"}}}}));
  EXPECT_TRUE(IsOurNodeFeature(
      {{"metadata",
        {{"name", "n"},
         {"annotations", {{names::kNfdWorkerVersion, policy::OurWorkerVersion()}}}}}}));
  EXPECT_FALSE(IsOurNodeFeature({{"metadata", {{"name", "vendor"}}}}));
}

// op#433: drivers are divided by what each node runs.
TEST(DriverSystem, StandsOnANodeThatIsToHaveADriver) {
  Labelled node({{kPci, "true"}, {names::kSystemId, "ubuntu"}, {names::kSystemVersion, "22.04"}});
  EXPECT_THAT(node.Round(), Not(Contains(Key(names::kDriverSystem)))) << "drivers are the hosts'";
  node.rules.driver_systems = true;
  EXPECT_EQ(node.Round()[names::kDriverSystem], "ubuntu22.04");
  // Its DaemonSet selects by it, so that silence takes nothing away.
  node.Set(names::kSystemVersion, nullptr);
  EXPECT_EQ(node.Round()[names::kDriverSystem], "ubuntu22.04");
  node.Set(names::kSystemVersion, "24.04");
  EXPECT_EQ(node.Round()[names::kDriverSystem], "ubuntu24.04");
  node.Set(names::kDeployOperands, "false");
  EXPECT_THAT(node.Round(), Not(Contains(Key(names::kDriverSystem))));
  node.Set(names::kDeployOperands, nullptr);
  node.rules.sandbox = true;
  node.Set(names::kWorkloadConfig, "vm-passthrough");
  EXPECT_THAT(node.Round(), Not(Contains(Key(names::kDriverSystem))));
  node.Set(names::kWorkloadConfig, "vm-vgpu");
  EXPECT_EQ(node.Round()[names::kDriverSystem], "ubuntu24.04");
  EXPECT_TRUE(StripNode(node.node(), "")["metadata"]["labels"].contains(names::kDriverSystem));
  node.Set(kPci, nullptr);
  EXPECT_THAT(node.Round(), Not(Contains(Key(names::kDriverSystem))));
}

TEST(DriverSystem, ADaemonSetForAnotherSystemIsLetLooseOnNoNode) {
  Labelled node({{kPci, "true"}, {names::kSystemId, "ubuntu"}, {names::kSystemVersion, "24.04"}});
  node.rules.driver_systems = true;
  node.rules.open_drivers = {{.system = "ubuntu22.04", .nodes = {}}};
  Labels labels = node.Round();
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/gpu.deploy.driver"))));
  EXPECT_EQ(labels["nvidia.com/gpu.deploy.device-plugin"], "true");
  node.rules.open_drivers.clear();
  EXPECT_EQ(node.Round()["nvidia.com/gpu.deploy.driver"], "true");
  node.rules.open_drivers = {{.system = "ubuntu22.04", .nodes = {}}};
  EXPECT_EQ(node.Round()["nvidia.com/gpu.deploy.driver"], "true") << "what it has it keeps";
  Labelled other({{kPci, "true"}, {names::kSystemId, "ubuntu"}, {names::kSystemVersion, "22.04"}});
  other.rules = node.rules;
  EXPECT_EQ(other.Round()["nvidia.com/gpu.deploy.driver"], "true");
}

TEST(DriverSystem, IsAskedForByAPolicyWithADriver) {
  const Json image = {{"repository", "r"}, {"image", "i"}, {"version", "1"}};
  const auto asked = [](const Json& spec) {
    return RulesOf(*policy::Parse({{"spec", spec}}), false).driver_systems;
  };
  EXPECT_TRUE(asked({{"driver", image}}));
  EXPECT_FALSE(asked(Json::object()));
  Json off = image;
  off["enabled"] = false;
  EXPECT_FALSE(asked({{"driver", off}}));
  Json on = image;
  on["enabled"] = true;
  EXPECT_TRUE(
      asked({{"driver", off}, {"vgpuManager", on}, {"sandboxWorkloads", {{"enabled", true}}}}));
}

}  // namespace
}  // namespace gantry::gpu_operator
