// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/node_facts.h"
#include "operator/node_labels.h"

namespace gantry::gpu_operator {

// The change of a node's start-up taint.
struct TaintChange {
  std::vector<std::string> remove;  // keys
  std::string add;                  // key; empty: none
  // The new annotation that records Gantry's taint; empty removes it.
  std::optional<std::string> annotation;
  [[nodiscard]] bool empty() const {
    return remove.empty() && add.empty() && !annotation.has_value();
  }
};

// The taint with that key keeps pods off a GPU node until the validation succeeds, and is set again
// when it fails. It comes with the node (from its node pool) or with the labels that make it a GPU
// node; missing information taints no node. A node without Gantry's validator (`rules`, and its
// deploy label) is not tainted. `key` empty: no taint is configured, and an earlier one is removed.
TaintChange DecideStartupTaint(const NodeFacts& node, const NodeChange& labels,
                               const LabelRules& rules, const std::string& key);

// Adds the change to a merge patch of `node`, the present Node: the entire list of taints, the
// patch's own if it has one, is replaced, with the node's resourceVersion as precondition.
void AddToPatch(const TaintChange& change, const Json& node, Json& patch);

}  // namespace gantry::gpu_operator
