// SPDX-License-Identifier: Apache-2.0

#include "operator/feature_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/node_labels_for_tests.h"
#include "operator/strip.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Key;
using testing::Pair;
using testing::UnorderedElementsAre;

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
  LabelledNode node;
  node.master.taints = true;
  node.node()["spec"]["taints"] =
      Json::array({{{"key", "mine"}, {"effect", "NoExecute"}, {"timeAdded", "2026"}}});
  node.Rules(kRules).Worker({{kPciLabel, "true"}}, kLoaded);
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
  node.Worker({{kPciLabel, "true"}},
              {{"flags", {{"kernel.loadedmodule", {{"elements", Json::object()}}}}}});
  labels = node.Round();
  EXPECT_FALSE(labels.contains("nvidia.com/gds.capable"));
  EXPECT_EQ(node.Annotation("feature.node.kubernetes.io/note"), "");
  EXPECT_FALSE(node.node()["status"]["capacity"].contains("vendor.com/dongle"));
  EXPECT_EQ(node.node()["spec"]["taints"],
            Json::array({{{"key", "mine"}, {"effect", "NoExecute"}, {"timeAdded", "2026"}}}));
}

TEST(NodeFeatureRules, AnInstanceKeepsItsOwnRecords) {
  LabelledNode node(Json::object({{"feature.node.kubernetes.io/theirs", "1"}}));
  node.node()["metadata"]["annotations"] = {{names::kNfdFeatureLabelsAnnotation, "theirs"}};
  node.master.nodes.instance = "gpu";
  node.master.taints = true;
  node.Rules(kRules).Worker({{kPciLabel, "true"}}, kLoaded);
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
  LabelledNode node(Json::object({{kRack, "by hand"}}));
  node.node()["metadata"]["annotations"]["feature.node.kubernetes.io/note"] = "mine";
  node.node()["status"]["capacity"]["vendor.com/dongle"] = "7";
  node.master.nodes.others = true;
  node.Rules(kRules).Worker({{kPciLabel, "true"}, {"rack", "r2"}}, kLoaded);
  EXPECT_THAT(node.Round(), IsSupersetOf({Pair(kRack, "by hand"), Pair(kPciLabel, "true"),
                                          Pair("nvidia.com/gds.capable", "true")}));
  EXPECT_EQ(node.Annotation("feature.node.kubernetes.io/note"), "mine");
  EXPECT_EQ(node.Annotation(names::kNfdFeatureAnnotations), "");
  EXPECT_EQ(node.node()["status"]["capacity"]["vendor.com/dongle"], "7");
  EXPECT_EQ(node.Annotation(names::kNfdExtendedResources), "");
  // What is ours is changed as ever, and a key that its owner gives up becomes ours.
  node.Set(kRack, nullptr).Set("nvidia.com/gds.capable", "false");
  EXPECT_THAT(node.Round(),
              IsSupersetOf({Pair(kRack, "r2"), Pair("nvidia.com/gds.capable", "true")}));
  node.Worker({{kPciLabel, "true"}, {"rack", "r3"}}, kLoaded);
  EXPECT_THAT(node.Round(), Contains(Pair(kRack, "r3")));
  // Without the restriction the others' are taken over.
  node.Set(kRack, "by hand");
  node.master.nodes.others = false;
  EXPECT_THAT(node.Round(), Contains(Pair(kRack, "r3")));
  EXPECT_EQ(node.Annotation("feature.node.kubernetes.io/note"), "hello");
}

TEST(NodeFeatureRules, WhatTheySaidStaysWhileTheNodeIsNotDescribed) {
  LabelledNode node;
  node.Rules(kRules).Worker({{kPciLabel, "true"}}, kLoaded);
  const Labels before = node.Round();
  node.NoFeature("n");
  EXPECT_EQ(node.Round(), before);
  EXPECT_EQ(node.Annotation("feature.node.kubernetes.io/note"), "hello");
}

TEST(NodeFeatureRules, GoOnWhileAnObjectOfOthersIsSilent) {
  const Json unloaded = {{"flags", {{"kernel.loadedmodule", {{"elements", Json::object()}}}}}};
  LabelledNode node;
  node.master.taints = true;
  node.Rules(kRules)
      .Worker({{kPciLabel, "true"}}, kLoaded)
      .Feature("vendor", {{"vendor.com/a", "1"}});
  node.Round();
  node.NoFeature("vendor").Worker({{kPciLabel, "true"}}, unloaded);
  const Labels labels = node.Round();
  EXPECT_FALSE(labels.contains("nvidia.com/gds.capable"));
  EXPECT_EQ(node.Annotation(names::kNfdFeatureAnnotations), "");
  EXPECT_EQ(node.Annotation(names::kNfdExtendedResources), "");
  EXPECT_EQ(node.Annotation(names::kNfdTaints), "");
  EXPECT_THAT(labels, Contains(Pair("vendor.com/a", "1")));
}

TEST(NodeFeatureRules, BringWhatIsNewAndKeepWhatWasWhileTheNodeIsHalfDescribed) {
  LabelledNode node;
  node.master.taints = true;
  node.Rules(kRules).Worker({{kPciLabel, "true"}}, kLoaded);
  node.Feature("nvidia-features-for-n", {{"nvidia.com/c", "3"}});
  node.Round();
  node.NoFeature("nvidia-features-for-n").Rules(R"([{"name": "new", "labels": {"new": "1"},
    "annotations": {"new": "1"}, "extendedResources": {"vendor.com/new": "1"}, "taints": [
      {"key": "vendor.com/new", "effect": "NoSchedule"},
      {"key": "vendor.com/special", "value": "no", "effect": "NoSchedule"}]}])");
  node.Worker({{kPciLabel, "true"}});
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
  LabelledNode node;
  node.Rules(kRules).Worker({{kPciLabel, "true"}, {"kubernetes.io/evil", "x"}}, kLoaded);
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
  EXPECT_EQ(config->feature_namespaces, "a=b");
  const MasterConfig defaults = ParseMasterConfig("").value();
  EXPECT_TRUE(defaults.publish && defaults.labels && defaults.others_labels);
  EXPECT_EQ(defaults.label_policy.white_list, nullptr);
  EXPECT_FALSE(ParseMasterConfig("{labelWhiteList: (}").has_value());
  EXPECT_FALSE(defaults.nodes.others || defaults.feature_namespaces.has_value());
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
  LabelledNode node;
  node.master = *config;
  node.Rules(kRules).Worker({{kPciLabel, "true"}}, kLoaded);
  EXPECT_FALSE(node.Round().contains("nvidia.com/gds.capable"));
  EXPECT_EQ(node.Annotation("feature.node.kubernetes.io/note"), "");
}

// What an NFD's master with this configuration makes of an object with these labels.
Labels Heard(const std::string& config, const std::string& name, const std::string& ns,
             const Json& labels) {
  const MasterConfig master = ParseMasterConfig(config).value();
  const FeatureFacts facts = ProjectFeatures(
      {{"metadata", {{"name", name}, {"namespace", ns}, {"labels", {{names::kNfdNodeName, "n"}}}}},
       {"spec", {{"labels", labels}}}},
      {.needs = {},
       .label_policy = master.label_policy,
       .namespaces = {"other"},
       .labels = master.labels,
       .others_labels = master.others_labels});
  return UnpackLabels(facts.labels);
}

TEST(NodeFeatures, AreRestrictedAsByNfdsMaster) {
  const Json labels = {{kPciLabel, "true"}, {"vendor.io/cpu", "1"}, {"rack", "r2"}};
  constexpr char kRack[] = "feature.node.kubernetes.io/rack";
  EXPECT_THAT(Heard("", "vendor", "ours", labels),
              UnorderedElementsAre(Key(kPciLabel), Key("vendor.io/cpu"), Key(kRack)));
  // The operator goes by some labels itself: they come whatever is asked.
  EXPECT_THAT(Heard("{restrictions: {disableLabels: true}}", "n", "ours", labels),
              UnorderedElementsAre(Key(kPciLabel)));
  EXPECT_THAT(Heard("{denyLabelNs: ['*']}", "n", "ours", labels),
              UnorderedElementsAre(Key(kPciLabel)));
  const Json system = {{names::kSystemId, "rocky"},
                       {names::kSystemVersion, "9.4"},
                       {names::kSystemMajor, "9"},
                       {names::kKernelVersion, "5.14"}};
  EXPECT_EQ(Heard("{restrictions: {disableLabels: true}}", "n", "ours", system).size(), 4U);
  EXPECT_THAT(Heard("{labelWhiteList: ^cpu}", "n", "ours", labels),
              UnorderedElementsAre(Key(kPciLabel), Key("vendor.io/cpu")));
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
  LabelledNode node;
  node.Rules(R"([{"name": "a", "labels": {"a": "bare", "feature.node.kubernetes.io/a": "full"},
                  "annotations": {"a": "bare", "feature.node.kubernetes.io/a": "full"},
                  "extendedResources": {"a": "1", "feature.node.kubernetes.io/a": "2"}},
                 {"name": "b", "labels": {"b": "1"}}])");
  node.Worker({{kPciLabel, "true"}});
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
  LabelledNode node;
  node.master.taints = true;
  node.Rules(R"([{"name": "a", "labels": {"a": "1"}, "taints": [
    {"key": "vendor.com/bad", "effect": "Kill"}, {"key": "vendor.com/b", "value": "a b", "effect": "NoSchedule"},
    {"key": "vendor.com/good", "effect": "NoSchedule"}]}])");
  node.Worker({{kPciLabel, "true"}});
  EXPECT_EQ(node.Decide().rejected_taints, 2);
  EXPECT_THAT(node.Round(), Contains(Pair("feature.node.kubernetes.io/a", "1")));
  EXPECT_EQ(node.Annotation(names::kNfdTaints), "vendor.com/good:NoSchedule");
}

// nfd#2408: labels were removed and added again at nearly every restart of the master.
TEST(Replays, Nfd2408AMasterThatStartsRemovesNothing) {
  LabelledNode node;
  node.Rules(kRules).Worker({{kPciLabel, "true"}}, kLoaded).Feature("g", {{"nvidia.com/a", "1"}});
  const Labels before = node.Round();
  // It has seen the node, and of its objects none, one, the other, both.
  node.NoFeature("n").NoFeature("g");
  EXPECT_EQ(node.Round(), before);
  node.Feature("g", {{"nvidia.com/a", "1"}});
  EXPECT_EQ(node.Round(), before);
  node.Worker({{kPciLabel, "true"}}, kLoaded);
  EXPECT_TRUE(node.Decide().empty());
}

// op#580: node feature discovery died in the middle of labelling, gpu.present became false, and the
// device plugin went.
TEST(Replays, Op580HalfOfTheLabelsTakeNoOperandAway) {
  LabelledNode node;
  node.Worker({{kPciLabel, "true"}, {kKernelLabel, "6.1"}});
  const Labels before = node.Round();
  node.Set(kPciLabel, nullptr).Set(kKernelLabel, nullptr);
  EXPECT_EQ(node.Round(), before);
  LabelledNode foreign({{kPciLabel, "true"}, {kKernelLabel, "6.1"}});
  foreign.rules.from_features = false;
  const Labels labelled = foreign.Round();
  foreign.Set(kPciLabel, nullptr).Set(kKernelLabel, nullptr);
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

TEST(NodeFeatures, WhyALayoutFailedIsKept) {
  const auto broken = [](const std::string& name, const char* state) {
    return ProjectFeatures({{"metadata",
                             {{"name", name},
                              {"labels", {{names::kNfdNodeName, "n"}}},
                              {"annotations", {{names::kMigMessage, "pod default/train"}}}}},
                            {"spec", {{"labels", {{names::kMigConfigState, state}}}}}})
        .broken;
  };
  EXPECT_EQ(broken("nvidia-mig-for-n", "failed"), "pod default/train");
  EXPECT_EQ(broken("nvidia-mig-for-n", "pending"), "");
  EXPECT_EQ(broken("nvidia-mig-for-m", "failed"), "") << "another node's";
}

TEST(NodeFeatures, HoldersAreThoseOfTheNodesMigManager) {
  const auto holders = [](const std::string& name) {
    return ProjectFeatures({{"metadata",
                             {{"name", name},
                              {"labels", {{names::kNfdNodeName, "n"}}},
                              {"annotations", {{names::kMigHolders, "them"}}}}}})
        .mig_holders;
  };
  EXPECT_EQ(holders("nvidia-mig-for-n"), "them");
  EXPECT_EQ(holders("nvidia-mig-for-m"), "");
}

TEST(NodeFeatures, AnotherWorkersVersionIsForeign) {
  const auto foreign = [](const std::string& version) {
    return ProjectFeatures({{"metadata", {{"annotations", {{names::kNfdWorkerVersion, version}}}}}})
        .foreign;
  };
  EXPECT_TRUE(foreign("v0.18.3"));
  EXPECT_FALSE(foreign(policy::OurWorkerVersion()));
}

}  // namespace
}  // namespace gantry::gpu_operator
