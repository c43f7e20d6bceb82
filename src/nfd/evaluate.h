// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nfd/features.h"
#include "nfd/rule.h"

namespace gantry::nfd {

// A NodeFeatureRule object.
struct RuleObject {
  std::string name;
  std::vector<Rule> rules;
  std::string uid = {};
  long long generation = 0;
};

// Why a rule of an object has no effect, or not all of its effect.
struct RuleMistake {
  std::string object;
  std::string uid;
  long long generation = 0;
  std::string rule;    // its name
  std::string reason;  // names the field
  bool operator==(const RuleMistake&) const = default;
};

// The result of the rules for a node. Keys of labels, annotations and resources have their
// prefixes.
struct Outputs {
  Elements labels;
  Elements annotations;
  Elements extended_resources;
  std::vector<Taint> taints;
  std::vector<RuleMistake> mistakes;  // one at most for each rule
  bool operator==(const Outputs&) const = default;
};

// Why a label of a rule must not be written on the node; empty: it may be.
using RefuseLabel = std::function<std::string(const std::string& key, const std::string& value)>;

// The rules of all objects, in the order of the objects' names; later ones win, and see what the
// earlier ones said as the feature `rule.matched`. A label that `refuse` rejects stays among the
// labels, and is a mistake of its rule.
Outputs Evaluate(const std::vector<RuleObject>& objects, Features features,
                 const RefuseLabel& refuse = nullptr);

// The labels of a NodeFeature or of a rule with every "@domain.feature.element" replaced by that
// attribute; a label whose attribute is missing is left out, and named.
Elements Resolve(const Elements& labels, const Features& features,
                 std::vector<std::string>& mistakes);

}  // namespace gantry::nfd
