// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/node_facts.h"
#include "operator/node_labels.h"

namespace gantry::gpu_operator {

// What is to change of a node's start-up taint.
struct TaintChange {
  std::vector<std::string> remove;  // keys
  std::string add;                  // key; empty: none
  // The annotation that remembers which taint is ours, new; empty removes it.
  std::optional<std::string> annotation;
  [[nodiscard]] bool empty() const {
    return remove.empty() && add.empty() && !annotation.has_value();
  }
};

// The taint with that key keeps pods off a GPU node until the validator has found it whole, and is
// put back when it finds that it is not. It comes with the node (from its node pool) or with the
// labels that make it a GPU node; nothing is tainted for want of news. A node that no validator of
// ours is to check (`rules`, and its deploy label) is open. `key` empty: no such taint is asked
// for, and one that was put on before goes.
TaintChange DecideStartupTaint(const NodeFacts& node, const NodeChange& labels,
                               const LabelRules& rules, const std::string& key);

// Adds the change to a merge patch of `node`, which is the Node as it is now: the list of taints,
// the patch's own if it has one, is replaced as a whole, under the node's resourceVersion.
void AddToPatch(const TaintChange& change, const Json& node, Json& patch);

}  // namespace gantry::gpu_operator
