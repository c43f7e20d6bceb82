// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "operator/label_editor.h"
#include "operator/node_labels.h"

namespace gantry::gpu_operator {

// Adds to the editor what the NodeFeature objects and the rules say about the node of that name;
// see DecideLabels. What a missing object said earlier is kept.
void ApplyNodeFeatures(const std::string& name, const NodeFacts& node,
                       const NamedFeatures& features, const LabelRules& rules, const RuleSays& says,
                       const std::vector<std::string>& gone, LabelEditor& editor);

// Third parties' NodeFeature objects from which the node has labels, and which are not in
// `features`.
std::vector<std::string> SilentOthers(const std::string& name, const NodeFacts& node,
                                      const NamedFeatures& features);

}  // namespace gantry::gpu_operator
