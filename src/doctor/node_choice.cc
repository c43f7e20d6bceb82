// SPDX-License-Identifier: Apache-2.0
// Does a node selector or a required affinity match a node? As the scheduler reads them.
#include "doctor/node_choice.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::doctor {
namespace {

bool Holds(const Requirement& requirement, const NodeFacts& node) {
  // The one field that the API server allows.
  const Labels name = {{"metadata.name", node.name}};
  const Labels& labels = requirement.of_name ? name : node.labels;
  const auto label = labels.find(requirement.key);
  const bool there = label != labels.end();
  const bool listed =
      there && std::ranges::find(requirement.values, label->second) != requirement.values.end();
  if (requirement.op == "In") {
    return listed;
  }
  if (requirement.op == "NotIn") {
    return !listed;
  }
  if (requirement.op == "Exists" || requirement.op == "DoesNotExist") {
    return there == (requirement.op == "Exists");
  }
  const Result<long long> have = ParseInt(there ? label->second : "");
  const Result<long long> want = ParseInt(requirement.values.empty() ? "" : requirement.values[0]);
  return have && want && (requirement.op == "Gt" ? *have > *want : *have < *want);
}

}  // namespace

bool Takes(const NodeChoice& choice, const NodeFacts& node) {
  for (const auto& [key, value] : choice.labels) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) {
      return false;
    }
  }
  // An empty term matches no node.
  return choice.terms.empty() ||
         std::ranges::any_of(choice.terms, [&node](const std::vector<Requirement>& term) {
           return !term.empty() && std::ranges::all_of(term, [&node](const Requirement& each) {
             return Holds(each, node);
           });
         });
}

}  // namespace gantry::doctor
