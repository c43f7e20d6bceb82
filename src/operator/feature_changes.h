// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "operator/label_editor.h"
#include "operator/node_labels.h"

namespace gantry::gpu_operator {

// Adds to the editor what the NodeFeature objects say about the node of that name, and the rules;
// see DecideLabels. What an object says that is missing for the moment stays.
void ApplyNodeFeatures(const std::string& name, const NodeFacts& node,
                       const NamedFeatures& features, const LabelRules& rules, const RuleSays& says,
                       const std::vector<std::string>& gone, LabelEditor& editor);

// Others' NodeFeature objects by which the node has labels, and which are not among `features`.
std::vector<std::string> SilentOthers(const std::string& name, const NodeFacts& node,
                                      const NamedFeatures& features);

}  // namespace gantry::gpu_operator
