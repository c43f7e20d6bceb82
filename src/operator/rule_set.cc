// SPDX-License-Identifier: Apache-2.0

// What do the cluster's NodeFeatureRules say about one node, within the administrator's limits? The
// features of all of a node's NodeFeature objects are merged in the order of the objects' names, as
// in NFD's master.

#include "operator/rule_set.h"

#include "base/json_shape.h"
#include "base/text.h"
#include "operator/selector_text.h"
#include "policy/names.h"
#include "policy/yaml.h"

namespace gantry::gpu_operator {
namespace {

constexpr KnownKey kRestrictions[] = {
    {"nodeFeatureNamespaceSelector"},           {"disableLabels", Shape::kFlag},
    {"disableExtendedResources", Shape::kFlag}, {"disableAnnotations", Shape::kFlag},
    {"denyNodeFeatureLabels", Shape::kFlag},    {"allowOverwrite", Shape::kFlag}};
constexpr KnownKey kLeaderElection[] = {{"leaseDuration"}, {"renewDeadline"}, {"retryPeriod"}};
constexpr KnownKey kKeys[] = {{"denyLabelNs"},
                              {"extraLabelNs"},
                              {"labelWhiteList", Shape::kText},
                              {"noPublish", Shape::kFlag},
                              {"enableTaints", Shape::kFlag},
                              {"resyncPeriod"},
                              {"leaderElection", Shape::kMap, kLeaderElection},
                              {"nfdApiParallelism"},
                              {"klog"},
                              {"restrictions", Shape::kMap, kRestrictions},
                              {"informerPageSize"}};

Status ReadList(const Json& json, const char* key, std::vector<std::string>& into) {
  const Json* list = At(json, key);
  if (list == nullptr || list->is_null()) {
    return {};
  }
  if (!list->is_array()) {
    return Fail(ErrorKind::kInvalid, format("{}: must be a list", key));
  }
  for (const Json& entry : *list) {
    if (!entry.is_string()) {
      return Fail(ErrorKind::kInvalid, format("{}: must be texts", key));
    }
    into.push_back(entry.get<std::string>());
  }
  return {};
}

std::string WhyNoLabel(const std::string& key, const std::string& value,
                       const nfd::LabelPolicy& policy) {
  if (!nfd::IsLabelKey(key) || !nfd::IsLabelValue(value)) {
    return format("label {}={}: Kubernetes does not allow it", key, value);
  }
  return MayBeFeature(key, policy)
             ? ""
             : format(
                   "label {}: the master's configuration (denyLabelNs, extraLabelNs, "
                   "labelWhiteList) does not allow it",
                   key);
}

}  // namespace

Result<MasterConfig> ParseMasterConfig(std::string_view text) {
  TRY_ASSIGN(Json json, policy::ParseYaml(text));
  MasterConfig config;
  if (json.is_null()) {
    return config;
  }
  TRY_ASSIGN(const std::vector<std::string> unknown, Conform(json, kKeys));
  config.warnings = WithoutEffect(unknown);
  TRY(ReadList(json, "denyLabelNs", config.label_policy.deny));
  TRY(ReadList(json, "extraLabelNs", config.label_policy.allow));
  config.taints = BoolAt(json, "enableTaints", false);
  config.publish = !BoolAt(json, "noPublish", false);
  TRY_ASSIGN(config.label_policy.white_list, nfd::ParseWhiteList(TextAt(json, "labelWhiteList")));
  config.labels = !BoolAt(json, "restrictions.disableLabels", false);
  config.others_labels = !BoolAt(json, "restrictions.denyNodeFeatureLabels", false);
  config.rule_annotations = !BoolAt(json, "restrictions.disableAnnotations", false);
  config.rule_resources = !BoolAt(json, "restrictions.disableExtendedResources", false);
  if (const Json* selector = At(json, "restrictions.nodeFeatureNamespaceSelector");
      selector != nullptr && !selector->is_null()) {
    auto asked = SelectorText(*selector);
    if (!asked.has_value()) {
      return std::unexpected(
          std::move(asked).error().In("restrictions.nodeFeatureNamespaceSelector"));
    }
    config.feature_namespaces = *std::move(asked);
  }
  config.nodes.others = !BoolAt(json, "restrictions.allowOverwrite", true);
  return config;
}

Result<std::string> ParseInstance(std::string_view name) {
  if (!name.empty() && !nfd::IsLabelKey(NfdRecord(names::kNfdFeatureLabelsAnnotation, name))) {
    return Fail(ErrorKind::kInvalid,
                format("\"{}\" can't stand before {}", name, names::kNfdFeatureLabelsAnnotation));
  }
  return std::string(name);
}

RuleSet MakeRuleSet(const std::vector<RuleText>& objects) {
  RuleSet set;
  for (const RuleText& object : objects) {
    nfd::ParsedRules parsed = nfd::ParseRules(object.rules);
    for (const auto& [rule, error] : parsed.mistakes) {
      set.mistakes.push_back({object.name, object.uid, object.generation, rule, error.message});
    }
    for (auto& [feature, need] : nfd::NeedsOf(parsed.rules)) {
      nfd::Need& all = set.needs[feature];
      all.all |= need.all;
      all.all_attributes |= need.all_attributes;
      all.names.insert(need.names.begin(), need.names.end());
    }
    set.objects.push_back({object.name, std::move(parsed.rules), object.uid, object.generation});
  }
  return set;
}

RuleSays ApplyRuleSet(const RuleSet& rules, const NamedFeatures& features,
                      const MasterConfig& config) {
  RuleSays says;
  says.label_policy = config.label_policy;
  says.taints = config.taints;
  says.instance = config.nodes.instance;
  if (rules.objects.empty()) {
    return says;
  }
  nfd::Features all;
  for (const auto& [name, facts] : features) {
    if (const auto json = ParseJson(facts->features); json.has_value()) {
      nfd::Add(all, nfd::FeaturesFrom(*json));
    }
  }
  says.outputs = nfd::Evaluate(rules.objects, std::move(all),
                               [&config](const std::string& key, const std::string& value) {
                                 return WhyNoLabel(key, value, config.label_policy);
                               });
  if (!config.labels) {
    says.outputs.labels.clear();
  }
  if (!config.rule_annotations) {
    says.outputs.annotations.clear();
  }
  if (!config.rule_resources) {
    says.outputs.extended_resources.clear();
  }
  return says;
}

}  // namespace gantry::gpu_operator
