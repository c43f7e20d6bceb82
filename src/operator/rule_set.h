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

// The fields of an NFD master's configuration (nfd-master.conf) that have an effect here. Its
// `klog`, `resyncPeriod`, `leaderElection`, `nfdApiParallelism` and `informerPageSize` have no
// counterpart.
struct MasterConfig {
  nfd::LabelPolicy label_policy;  // denyLabelNs, extraLabelNs, labelWhiteList
  bool taints = false;            // enableTaints
  bool publish = true;            // !noPublish
  // restrictions.*
  bool labels = true;         // of rules and of NodeFeatures (disableLabels)
  bool others_labels = true;  // of other NodeFeatures than Gantry's (denyNodeFeatureLabels)
  bool rule_annotations = true;
  bool rule_resources = true;
  // Other namespaces whose NodeFeatures count (restrictions.nodeFeatureNamespaceSelector), in the
  // API server's form; none: only the operator's own.
  std::optional<std::string> feature_namespaces = std::nullopt;
  NodeReading nodes;  // -instance; `others`: restrictions.allowOverwrite is false
  std::vector<std::string> warnings = {};  // keys without effect, one sentence each
};
// From YAML or JSON; empty input is the default. kInvalid names the key.
Result<MasterConfig> ParseMasterConfig(std::string_view text);
// The name of an instance of NFD, or empty: none. kInvalid if no annotation can have it.
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
// A rule with a mistake is left out, and only that one.
RuleSet MakeRuleSet(const std::vector<RuleText>& objects);

// The results of the rules for a node with these NodeFeature objects.
RuleSays ApplyRuleSet(const RuleSet& rules, const NamedFeatures& features,
                      const MasterConfig& config);

}  // namespace gantry::gpu_operator
