// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "nfd/evaluate.h"
#include "nfd/label_policy.h"
#include "operator/node_labels.h"

namespace gantry::gpu_operator {

// What of an NFD master's configuration (nfd-master.conf) decides anything here. Its `klog`,
// `resyncPeriod`, `leaderElection`, `nfdApiParallelism` and `informerPageSize` have no counterpart.
struct MasterConfig {
  nfd::LabelPolicy label_policy;  // denyLabelNs, extraLabelNs, labelWhiteList
  bool taints = false;            // enableTaints
  bool publish = true;            // not noPublish
  // restrictions.*
  bool labels = true;         // of rules and of NodeFeatures (disableLabels)
  bool others_labels = true;  // of NodeFeatures that are not our operands' (denyNodeFeatureLabels)
  bool rule_annotations = true;
  bool rule_resources = true;
  // Other namespaces whose NodeFeatures count (restrictions.nodeFeatureNamespaceSelector), in the
  // form in which the API server is asked; none: only the operator's own.
  std::optional<std::string> feature_namespaces = std::nullopt;
  NodeReading nodes;  // -instance; `others`: restrictions.allowOverwrite is switched off
  std::vector<std::string> warnings = {};  // what has no effect, one sentence each, naming the key
};
// From YAML or JSON; an empty text is the default. kInvalid names the key.
Result<MasterConfig> ParseMasterConfig(std::string_view text);
// The name of an instance of NFD, or an empty text: none. kInvalid if no annotation can have it.
Result<std::string> ParseInstance(std::string_view name);

// All NodeFeatureRules of the cluster.
struct RuleSet {
  std::vector<nfd::RuleObject> objects;
  nfd::Needs needs;
  std::vector<nfd::RuleMistake> mistakes;  // rules that can't be read
};
struct RuleText {
  std::string name;  // of the object
  Json rules;        // its `spec.rules`
  std::string uid = {};
  long long generation = 0;
};
// A rule with a mistake is left out alone.
RuleSet MakeRuleSet(const std::vector<RuleText>& objects);

// What the rules say about a node with these NodeFeature objects.
RuleSays ApplyRuleSet(const RuleSet& rules, const NamedFeatures& features,
                      const MasterConfig& config);

}  // namespace gantry::gpu_operator
