// SPDX-License-Identifier: Apache-2.0
// Rules are written here as users write them, in YAML, and evaluated on one node's features.
#include "nfd/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "nfd/label_policy.h"
#include "nfd/match.h"

namespace gantry::nfd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

Features Node() {
  Features features;
  features.flags["kernel.loadedmodule"] = {"gdrdrv", "nvidia", "nvidia_peermem"};
  features.flags["cpu.cpuid"] = {"AVX", "AVX512F"};
  features.attributes["cpu.cpuid"] = {{"level", "22"}};
  features.attributes["kernel.version"] = {{"full", "6.1.0-18-amd64"}, {"major", "6"}};
  features.attributes["memory.numa"] = {{"is_numa", "true"}, {"node_count", "2"}};
  features.instances["pci.device"] = {{{"class", "0302"}, {"vendor", "10de"}, {"device", "20b2"}},
                                      {{"class", "0302"}, {"vendor", "10de"}, {"device", "20b5"}},
                                      {{"class", "0207"}, {"vendor", "15b3"}, {"device", "101b"}}};
  return features;
}

Outputs Evaluated(const std::string& json, const Features& features = Node()) {
  ParsedRules parsed = ParseRules(ParseJson(json).value());
  Outputs outputs = Evaluate({{"object", std::move(parsed.rules)}}, features);
  for (const auto& [rule, error] : parsed.mistakes) {
    outputs.mistakes.push_back(
        {.object = "", .uid = "", .generation = 0, .rule = rule, .reason = error.message});
  }
  return outputs;
}

// The labels below feature.node.kubernetes.io.
std::string Short(const std::string& name) { return WithPrefix(name); }

// Whether a rule with these terms holds; its mistake if it can't be worked out.
std::string Holds(const std::string& terms) {
  const Outputs outputs =
      Evaluated(R"([{"name": "r", "labels": {"l": "1"}, "matchFeatures": [)" + terms + "]}]");
  return outputs.mistakes.empty() ? (outputs.labels.empty() ? "no" : "yes")
                                  : outputs.mistakes[0].reason;
}

struct RuleCase {
  const char* terms;
  const char* holds;
};
class Expressions : public testing::TestWithParam<RuleCase> {};
TEST_P(Expressions, Hold) { EXPECT_EQ(Holds(GetParam().terms), GetParam().holds); }

#define FLAG(expression) \
  R"({"feature": "kernel.loadedmodule", "matchExpressions": {)" expression "}}"
#define VERSION(expression) R"({"feature": "Kernel.Version", "matchExpressions": {)" expression "}}"
#define PCI(expression) R"({"feature": "pci.device", "matchExpressions": {)" expression "}}"

INSTANTIATE_TEST_SUITE_P(
    All, Expressions,
    testing::Values(
        RuleCase{FLAG(R"("gdrdrv": {"op": "Exists"})"), "yes"},
        RuleCase{FLAG(R"("nvidia_fs": {"op": "Exists"})"), "no"},
        RuleCase{FLAG(R"("nvidia_fs": {"op": "DoesNotExist"})"), "yes"},
        RuleCase{FLAG(R"("nvidia_fs": {})"), "yes"}, RuleCase{FLAG(R"("gdrdrv": {})"), "yes"},
        RuleCase{FLAG(R"("gdrdrv": {"op": "In", "value": ["gdrdrv"]})"), "no"},
        RuleCase{FLAG(R"("gdrdrv": {"op": "Exists"}, "nvidia_fs": {"op": "Exists"})"), "no"},
        RuleCase{R"({"feature": "no.such", "matchExpressions": {"a": {"op": "DoesNotExist"}}})",
                 "no"},
        RuleCase{VERSION(R"("major": {"op": "In", "value": ["5", "6"]})"), "yes"},
        RuleCase{VERSION(R"("major": {"op": "In", "value": [6]})"), "yes"},
        RuleCase{VERSION(R"("major": {"op": "NotIn", "value": ["6"]})"), "no"},
        RuleCase{VERSION(R"("none": {"op": "NotIn", "value": ["6"]})"), "no"},
        RuleCase{VERSION(R"("full": {"op": "InRegexp", "value": ["^5", "amd64"]})"), "yes"},
        RuleCase{VERSION(R"("full": {"op": "InRegexp", "value": ["^amd64"]})"), "no"},
        RuleCase{VERSION(R"("major": {"op": "Gt", "value": ["5"]})"), "yes"},
        RuleCase{VERSION(R"("major": {"op": "Gt", "value": ["6"]})"), "no"},
        RuleCase{VERSION(R"("major": {"op": "Ge", "value": ["6"]})"), "yes"},
        RuleCase{VERSION(R"("major": {"op": "Lt", "value": ["7"]})"), "yes"},
        RuleCase{VERSION(R"("major": {"op": "Le", "value": ["5"]})"), "no"},
        RuleCase{VERSION(R"("major": {"op": "GtLt", "value": ["5", "7"]})"), "yes"},
        RuleCase{VERSION(R"("major": {"op": "GtLt", "value": ["6", "7"]})"), "no"},
        RuleCase{VERSION(R"("major": {"op": "GeLe", "value": ["6", "6"]})"), "yes"},
        RuleCase{VERSION(R"("full": {"op": "Gt", "value": ["5.15"], "type": "version"})"), "yes"},
        RuleCase{VERSION(R"("full": {"op": "Lt", "value": ["6.1.1"], "type": "version"})"), "yes"},
        RuleCase{R"({"feature": "memory.numa", "matchExpressions": {"is_numa": {"op": "IsTrue"}}})",
                 "yes"},
        RuleCase{
            R"({"feature": "memory.numa", "matchExpressions": {"is_numa": {"op": "IsFalse"}}})",
            "no"},
        RuleCase{PCI(R"("vendor": {"op": "In", "value": ["15b3"]})"), "yes"},
        // One instance must satisfy all of them.
        RuleCase{PCI(R"("vendor": {"op": "In", "value": ["15b3"]},
                    "class": {"op": "In", "value": ["0302"]})"),
                 "no"},
        RuleCase{R"({"feature": "cpu.cpuid", "matchExpressions": {"AVX": {"op": "Exists"},
                 "level": {"op": "Ge", "value": ["22"]}}})",
                 "yes"},
        RuleCase{
            R"({"feature": "cpu.cpuid", "matchName": {"op": "InRegexp", "value": ["^AVX512"]}})",
            "yes"},
        RuleCase{R"({"feature": "cpu.cpuid", "matchName": {"op": "In", "value": ["SSE"]}})", "no"},
        RuleCase{R"({"feature": "cpu.cpuid",
                 "matchExpressions": {"*": {"op": "InRegexp", "value": ["512"]}}})",
                 "yes"},
        RuleCase{R"({"feature": "pci.device", "matchName": {"op": "In", "value": ["device"]}})",
                 "yes"},
        RuleCase{R"({"feature": "pci.device"})", "yes"},
        // The short forms of a worker's configuration.
        RuleCase{R"({"feature": "cpu.cpuid", "matchExpressions": ["AVX512F", "level=22"]})", "yes"},
        RuleCase{R"({"feature": "cpu.cpuid", "matchExpressions": ["AVX512F", "level=23"]})", "no"},
        RuleCase{R"({"feature": "cpu.cpuid", "matchExpressions": ["SSE"]})", "no"},
        RuleCase{FLAG(R"("gdrdrv": null)"), "yes"}, RuleCase{FLAG(R"("nvidia_fs": null)"), "no"},
        RuleCase{PCI(R"("vendor": ["0fff", "15b3"], "class": "0207")"), "yes"},
        RuleCase{PCI(R"("vendor": ["0fff"])"), "no"}, RuleCase{VERSION(R"("major": 6)"), "yes"},
        RuleCase{R"({"feature": "memory.numa", "matchExpressions": {"is_numa": true}})", "yes"},
        RuleCase{R"({"feature": "cpu.cpuid", "matchName": "AVX"})", "yes"}),
    [](const auto& each) { return "E" + std::to_string(each.index); });

TEST(Evaluate, TheOperatorsRuleForKernelModules) {
  const Outputs outputs = Evaluated(R"([
    {"name": "gdrcopy", "labels": {"nvidia.com/gdrcopy.capable": "true"}, "matchFeatures": [
      {"feature": "kernel.loadedmodule", "matchExpressions": {"gdrdrv": {"op": "Exists"}}}]},
    {"name": "gds", "labels": {"nvidia.com/gds.capable": "true"}, "matchFeatures": [
      {"feature": "kernel.loadedmodule", "matchExpressions": {"nvidia_fs": {"op": "Exists"}}}]}])");
  EXPECT_THAT(outputs.labels, UnorderedElementsAre(Pair("nvidia.com/gdrcopy.capable", "true")));
  EXPECT_THAT(outputs.mistakes, IsEmpty());
}

TEST(Evaluate, ARuleWithoutConditionsHolds) {
  const Outputs outputs = Evaluated(R"([{"name": "r", "labels": {"a": true},
    "annotations": {"note": "x"}, "extendedResources": {"vendor.com/dongle": "@memory.numa.node_count"},
    "taints": [{"key": "vendor.com/t", "value": "v", "effect": "NoSchedule"}]}])");
  EXPECT_THAT(outputs.labels, UnorderedElementsAre(Pair(Short("a"), "true")));
  EXPECT_THAT(outputs.annotations, UnorderedElementsAre(Pair(Short("note"), "x")));
  EXPECT_THAT(outputs.extended_resources, UnorderedElementsAre(Pair("vendor.com/dongle", "2")));
  EXPECT_THAT(outputs.taints, ElementsAre(Taint{"vendor.com/t", "v", "NoSchedule"}));
}

TEST(Evaluate, OneOfMatchAnyIsEnoughAndTemplatesSeeEachThatHolds) {
  const Outputs outputs = Evaluated(R"([{"name": "r", "labels": {"fixed": "1"},
    "labelsTemplate": "{{range .pci.device}}dev-{{.device}}=found\n{{end}}",
    "matchAny": [
      {"matchFeatures": [{"feature": "pci.device",
         "matchExpressions": {"vendor": {"op": "In", "value": ["10de"]}}}]},
      {"matchFeatures": [{"feature": "pci.device",
         "matchExpressions": {"vendor": {"op": "In", "value": ["ffff"]}}}]},
      {"matchFeatures": [{"feature": "pci.device",
         "matchExpressions": {"vendor": {"op": "In", "value": ["15b3"]}}}]}]}])");
  EXPECT_THAT(
      outputs.labels,
      UnorderedElementsAre(Pair(Short("fixed"), "1"), Pair(Short("dev-20b2"), "found"),
                           Pair(Short("dev-20b5"), "found"), Pair(Short("dev-101b"), "found")));
}

TEST(Evaluate, LaterRulesSeeWhatEarlierOnesSaid) {
  const Outputs outputs = Evaluated(R"([
    {"name": "first", "labels": {"a": "1"}, "vars": {"v": "secret"},
     "varsTemplate": "{{range .kernel.version}}k={{.Value}}\n{{end}}", "matchFeatures": [
      {"feature": "kernel.version", "matchExpressions": {"major": {"op": "Exists"}}}]},
    {"name": "second", "labels": {"b": "@rule.matched.k"}, "matchFeatures": [
      {"feature": "rule.matched", "matchExpressions": {"a": {"op": "IsFalse"}}}]},
    {"name": "third", "labels": {"c": "@rule.matched.k"}, "matchFeatures": [
      {"feature": "rule.matched", "matchExpressions": {"v": {"op": "In", "value": ["secret"]}}}]}])");
  EXPECT_THAT(outputs.labels, UnorderedElementsAre(Pair(Short("a"), "1"), Pair(Short("c"), "6")));
}

TEST(Evaluate, ObjectsGoByNameAndTheLaterOneWins) {
  const auto rules = [](const char* value) {
    return ParseRules(
               ParseJson(format(R"([{{"name": "r", "labels": {{"a": "{}"}}}}])", value)).value())
        .rules;
  };
  EXPECT_EQ(Evaluate({{"z", rules("z")}, {"b", rules("b")}}, {}).labels.at(Short("a")), "z");
}

TEST(Evaluate, ARuleThatCantBeWorkedOutIsLeftOutAlone) {
  const Outputs outputs = Evaluated(R"([
    {"name": "number", "labels": {"a": "1"}, "matchFeatures": [
      {"feature": "kernel.version", "matchExpressions": {"full": {"op": "Gt", "value": ["5"]}}}]},
    {"name": "line", "labelsTemplate": "no value", "matchFeatures": [{"feature": "pci.device"}]},
    {"name": "field", "labelsTemplate": "{{.pci.none}}", "matchFeatures": [{"feature": "pci.device"}]},
    {"name": "missing", "labels": {"m": "@no.such.thing"}},
    {"name": "good", "labels": {"b": "2"}}])");
  EXPECT_THAT(outputs.labels, UnorderedElementsAre(Pair(Short("b"), "2")));
  std::vector<std::string> mistakes;
  for (const RuleMistake& mistake : outputs.mistakes) {
    mistakes.push_back(format("{} {}: {}", mistake.object, mistake.rule, mistake.reason));
  }
  EXPECT_THAT(mistakes, ElementsAre(HasSubstr("object number: \"6.1.0-18-amd64\" is not"),
                                    "object line: labelsTemplate: line \"no value\" has no value",
                                    "object field: labelsTemplate: there is no .none",
                                    HasSubstr("object missing: feature.node.kubernetes.io/m: "
                                              "there is no @no.such.thing")));
}

TEST(ParseRules, MistakesAreNamedWhereTheyStand) {
  const auto mistake = [](const std::string& json) {
    return Evaluated(json).mistakes.at(0).reason;
  };
  const auto term = [&](const std::string& expression) {
    return mistake(R"([{"name": "r", "matchFeatures": [{"feature": "a.b",
      "matchExpressions": {"x": )" +
                   expression + "}}]}]");
  };
  EXPECT_EQ(term(R"({"op": "Is"})"),
            "rule r.matchFeatures[0].matchExpressions[x]: unknown op \"Is\"");
  EXPECT_THAT(term(R"({"op": "In"})"), HasSubstr("op \"In\" has 0 values"));
  EXPECT_THAT(term(R"({"op": "Exists", "value": ["a"]})"), HasSubstr("has 1 values"));
  EXPECT_THAT(term(R"({"op": "InRegexp", "value": ["("]})"), HasSubstr("no regular expression"));
  EXPECT_THAT(term(R"({"op": "Gt", "value": ["1"], "type": "color"})"), HasSubstr("color"));
  EXPECT_EQ(term(R"({"op": "Gt", "value": ["x"]})"),
            "rule r.matchFeatures[0].matchExpressions[x]: \"x\" is not a whole number");
  EXPECT_THAT(term("[]"), HasSubstr("has no values"));
  EXPECT_THAT(term("[{}]"), HasSubstr("must be a text"));
  EXPECT_THAT(mistake(R"([{"name": "r", "matchFeatures": [{}]}])"), HasSubstr("has no feature"));
  EXPECT_THAT(mistake(R"([{"name": "r", "matchFeatures": 1}])"), HasSubstr("must be a list"));
  for (const char* wrong : {"3", "\"AVX\"", "[1]", "[{}]"}) {
    EXPECT_THAT(mistake(format(R"([{{"name": "r", "matchFeatures": [{{"feature": "a.b",
                                   "matchExpressions": {}}}]}}])",
                               wrong)),
                HasSubstr("must be a map of expressions or a list of names"));
  }
  EXPECT_THAT(mistake(R"([{"name": "r", "matchAny": [{}]}])"), HasSubstr("has no matchFeatures"));
  EXPECT_THAT(mistake(R"([{"name": "r", "labels": []}])"), HasSubstr("labels: must be a map"));
  EXPECT_THAT(mistake(R"([{"name": "r", "labels": {"a": {}}}])"), HasSubstr("must be a text"));
  EXPECT_THAT(mistake(R"([{"name": "r", "labelsTemplate": "{{"}])"), HasSubstr("labelsTemplate"));
  EXPECT_THAT(mistake(R"([{"labels": 1}])"), HasSubstr("rule 0"));
  EXPECT_THAT(mistake("{}"), HasSubstr("must be a list"));
  EXPECT_THAT(mistake("[1]"), HasSubstr("must be a map"));
}

TEST(ParseRules, OneMistakeLeavesOutItsRuleAlone) {
  const ParsedRules parsed = ParseRules(ParseJson(R"([{"name": "a"}, {"name": "b", "labels": 1},
    {"labelsTemplate": "{{"}, {"name": "c", "taints": [{"key": "a", "effect": "Kill"}]}])")
                                            .value());
  ASSERT_EQ(parsed.rules.size(), 2U);
  EXPECT_EQ(parsed.rules[1].name, "c");
  ASSERT_EQ(parsed.mistakes.size(), 2U);
  EXPECT_EQ(parsed.mistakes[0].rule, "b");
  EXPECT_EQ(parsed.mistakes[0].error.message, "rule b.labels: must be a map");
  EXPECT_THAT(parsed.mistakes[1].error.message, HasSubstr("rule 2.labelsTemplate"));
}

// What is left of a rule without a misspelt key has fewer conditions than its author meant.
TEST(ParseRules, AnUnknownKeyFailsItsRule) {
  const auto mistake = [](const std::string& rule) {
    const ParsedRules parsed = ParseRules(ParseJson("[" + rule + "]").value());
    EXPECT_THAT(parsed.rules, IsEmpty());
    EXPECT_EQ(parsed.mistakes.at(0).error.kind, ErrorKind::kUnsupported);
    return parsed.mistakes.at(0).error.message;
  };
  EXPECT_EQ(mistake(R"({"name": "gpu", "labels": {"a": "b"}, "matchFeature": [], "x": 1})"),
            "rule gpu.matchFeature, rule gpu.x: unknown key");
  EXPECT_EQ(mistake(R"({"matchFeatures": [{"feature": "a.b", "matchExpression": {}}]})"),
            "rule 0.matchFeatures[0].matchExpression: unknown key");
  EXPECT_EQ(mistake(R"({"matchAny": [{"matchFeatures": [], "matchName": {}}]})"),
            "rule 0.matchAny[0].matchName: unknown key");
  EXPECT_EQ(mistake(R"({"matchFeatures": [{"feature": "a.b",
                        "matchExpressions": {"c": {"op": "In", "values": ["d"]}}}]})"),
            "rule 0.matchFeatures[0].matchExpressions[c].values: unknown key");
  EXPECT_EQ(mistake(R"({"matchFeatures": [{"feature": "a.b", "matchName": {"operator": "In"}}]})"),
            "rule 0.matchFeatures[0].matchName.operator: unknown key");
  EXPECT_EQ(mistake(R"({"taints": [{"key": "a", "effct": "NoSchedule"}]})"),
            "rule 0.taints[0].effct: unknown key");
  // RuleCase apart, as for Go's decoder.
  EXPECT_EQ(Holds(R"({"Feature": "pci.device", "matchexpressions": {"vendor": {"Op": "In",
                      "Value": ["1234"]}}})"),
            "no");
}

TEST(Needs, AreWhatTheRulesCanSee) {
  const auto rules = ParseRules(ParseJson(R"([
    {"name": "a", "matchFeatures": [
      {"feature": "Kernel.LoadedModule", "matchExpressions": {"gdrdrv": {"op": "Exists"}}},
      {"feature": "pci.device", "matchExpressions": {"vendor": {"op": "Exists"}}}]},
    {"name": "b", "labels": {"x": "@kernel.version.full"}},
    {"name": "c", "matchFeatures": [{"feature": "cpu.cpuid", "matchName": {"op": "Exists"}}]}])")
                                    .value())
                         .rules;
  ASSERT_EQ(rules.size(), 3U);
  const Needs needs = NeedsOf(rules);
  const Features kept = Keep(Node(), needs);
  EXPECT_THAT(kept.flags.at("kernel.loadedmodule"), ElementsAre("gdrdrv"));
  EXPECT_THAT(kept.attributes.at("kernel.version"), ElementsAre(Pair("full", "6.1.0-18-amd64")));
  EXPECT_THAT(kept.instances.at("pci.device"), ElementsAre(ElementsAre(Pair("vendor", "10de")),
                                                           ElementsAre(Pair("vendor", "15b3"))));
  EXPECT_EQ(kept.flags.at("cpu.cpuid").size(), 2U);
  EXPECT_FALSE(kept.attributes.contains("memory.numa"));
  // What is kept gives the same answers as the whole.
  EXPECT_EQ(Evaluate({{"o", rules}}, kept), Evaluate({{"o", rules}}, Node()));

  EXPECT_TRUE(Covers(needs, needs));
  EXPECT_TRUE(Covers(needs, {}));
  EXPECT_FALSE(Covers({}, needs));
  Needs more = needs;
  more["pci.device"].names.insert("class");
  EXPECT_FALSE(Covers(needs, more));
  EXPECT_TRUE(Covers(more, needs));
  more["pci.device"].all = true;
  EXPECT_TRUE(Covers(more, needs));
}

TEST(Features, GoToJsonAndBackAndAddUp) {
  EXPECT_EQ(FeaturesFrom(ToJson(Node())), Node());
  EXPECT_TRUE(FeaturesFrom(ParseJson(R"({"flags": 1, "attributes": {"a": {}}})").value()).empty());
  Features sum = Node();
  Features more;
  more.flags["cpu.cpuid"] = {"AMXTILE"};
  more.attributes["kernel.version"] = {{"major", "7"}};
  more.attributes["empty.one"] = {};
  more.instances["pci.device"] = {{{"vendor", "8086"}}};
  Add(sum, more);
  EXPECT_EQ(sum.flags.at("cpu.cpuid").size(), 3U);
  EXPECT_EQ(sum.attributes.at("kernel.version").at("major"), "7");
  EXPECT_EQ(sum.attributes.at("kernel.version").size(), 2U);
  EXPECT_TRUE(sum.attributes.contains("empty.one"));
  EXPECT_EQ(sum.instances.at("pci.device").size(), 4U);
}

TEST(CompareVersions, PartByPart) {
  EXPECT_EQ(CompareVersions("1.10", "1.9").value(), 1);
  EXPECT_EQ(CompareVersions("v1.2.0", "1.2").value(), 0);
  EXPECT_EQ(CompareVersions("6.1.0-18", "6.1.1").value(), -1);
  EXPECT_FALSE(CompareVersions("x", "1").has_value());
  EXPECT_FALSE(CompareVersions("1", "").has_value());
}

TEST(LabelPolicy, KeysAndValues) {
  EXPECT_TRUE(IsLabelKey("a.b/c_D.1"));
  for (const char* key : {"a", "/a", "a/", "A/b", "a..b/c", "-a/b", "a/b/c", "a/-b", "a/b c"}) {
    EXPECT_FALSE(IsLabelKey(key)) << key;
  }
  EXPECT_FALSE(IsLabelKey("a/" + std::string(64, 'x')));
  EXPECT_TRUE(IsLabelValue(""));
  EXPECT_FALSE(IsLabelValue("_a"));
  EXPECT_FALSE(IsLabelValue("a b"));
  EXPECT_EQ(WholeQuantity("16Gi"), uint64_t{16} << 30);
  EXPECT_EQ(WholeQuantity("2Ki"), 2048U);
  EXPECT_EQ(WholeQuantity("2k"), 2000U);
  EXPECT_EQ(WholeQuantity("0"), 0U);
  for (const char* value :
       {"", "Gi", "1.5", "-1", "1e3", "99999999999999999999", "99E", "1K", "1ki", "1i", "1Gib"}) {
    EXPECT_EQ(WholeQuantity(value), std::nullopt) << value;
  }
  EXPECT_EQ(WithPrefix("a"), "feature.node.kubernetes.io/a");
  EXPECT_EQ(WithPrefix("b/a"), "b/a");
  EXPECT_THAT(WithPrefixes({{"a", "bare"}, {"feature.node.kubernetes.io/a", "full"}, {"b", "1"}}),
              ElementsAre(Pair(Short("a"), "full"), Pair(Short("b"), "1")));
  EXPECT_EQ(WithoutPrefix("feature.node.kubernetes.io/a"), "a");
  EXPECT_EQ(WithoutPrefix("b/a"), "b/a");
}

TEST(LabelPolicy, KubernetesDomainsAreNotForEverybody) {
  EXPECT_TRUE(MayBeLabel("nvidia.com/gpu.product"));
  EXPECT_TRUE(MayBeLabel("feature.node.kubernetes.io/x"));
  EXPECT_TRUE(MayBeLabel("sub.profile.node.kubernetes.io/x"));
  EXPECT_FALSE(MayBeLabel("node-role.kubernetes.io/control-plane"));
  EXPECT_FALSE(MayBeLabel("kubernetes.io/hostname"));
  EXPECT_FALSE(MayBeLabel("sigs.k8s.io/x"));
  EXPECT_TRUE(MayBeLabel("mykubernetes.io/x"));
  const LabelPolicy namespaces{.deny = {"vendor.com", "*.denied.io", "*acme.com"},
                               .allow = {"special.kubernetes.io"}};
  EXPECT_FALSE(MayBeLabel("vendor.com/x", namespaces));
  EXPECT_TRUE(MayBeLabel("sub.vendor.com/x", namespaces));
  EXPECT_FALSE(MayBeLabel("a.denied.io/x", namespaces));
  EXPECT_TRUE(MayBeLabel("denied.io/x", namespaces));
  EXPECT_TRUE(MayBeLabel("special.kubernetes.io/x", namespaces));
  EXPECT_FALSE(MayBeLabel("acme.com/x", namespaces) || MayBeLabel("theacme.com/x", namespaces));
  EXPECT_FALSE(MayBeLabel("feature.node.kubernetes.io/x", {.deny = {"*kubernetes.io"}}));
  const LabelPolicy none{.deny = {"*"}, .allow = {"nvidia.com", "*.vendor.com"}};
  EXPECT_TRUE(MayBeLabel("nvidia.com/x", none));
  EXPECT_FALSE(MayBeLabel("a.vendor.com/x", none) ||
               MayBeLabel("profile.node.kubernetes.io/x", none));
  const LabelPolicy listed{.white_list = ParseWhiteList("^cpu-").value()};
  EXPECT_TRUE(MayBeLabel("vendor.com/cpu-x", listed));
  EXPECT_FALSE(MayBeLabel("cpu-vendor.com/x", listed));
  EXPECT_FALSE(ParseWhiteList("(").has_value());
  EXPECT_TRUE(MayBeTaint("vendor.com/t", "", "NoExecute"));
  EXPECT_FALSE(MayBeTaint("vendor.com/t", "a b", "NoExecute") ||
               MayBeTaint("node.kubernetes.io/t", "", "NoExecute") ||
               MayBeTaint("vendor.com/t", "", "Kill"));
  EXPECT_TRUE(MayBeOther("vendor.com/dongle"));
  EXPECT_TRUE(MayBeOther("feature.node.kubernetes.io/x"));
  EXPECT_FALSE(MayBeOther("node.kubernetes.io/x"));
  EXPECT_FALSE(MayBeOther("profile.node.kubernetes.io/x"));
}

}  // namespace
}  // namespace gantry::nfd
