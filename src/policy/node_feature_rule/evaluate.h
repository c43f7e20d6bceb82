// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/node_feature_rule/features.h"
#include "policy/node_feature_rule/rule.h"

namespace gantry::node_feature_rule {

// A NodeFeatureRule object.
struct RuleObject {
  std::string name;
  std::vector<Rule> rules;
};

// What the rules come to for a node. Keys of labels, annotations and resources have their prefixes.
struct Outputs {
  Elements labels;
  Elements annotations;
  Elements extended_resources;
  std::vector<Taint> taints;
  std::vector<std::string> mistakes;  // rules that could not be worked out, one sentence each
  bool operator==(const Outputs&) const = default;
};

// The rules of all objects, in the order of the objects' names; later ones win, and see what the
// earlier ones said as the feature `rule.matched`.
Outputs Evaluate(const std::vector<RuleObject>& objects, Features features);

// The labels of a NodeFeature or of a rule with every "@domain.feature.element" replaced by that
// attribute; a label whose attribute is missing is left out, and named.
Elements Resolve(const Elements& labels, const Features& features,
                 std::vector<std::string>& mistakes);

}  // namespace gantry::node_feature_rule
