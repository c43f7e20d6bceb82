// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/json.h"

namespace gantry::gpu_operator {

// The merge patch that takes from a Node what the operator put on it, or null if there is nothing:
// gpu.present, deploy labels that it set, what NodeFeature objects brought, its start-up taint, and
// the annotations with which it remembers. What somebody set by hand (a deploy label of another
// value) stays. `instance`: as NfdRecord has it.
Json StripNode(const Json& node, std::string_view instance = {});

// The merge patch that takes the extended resources of NodeFeatureRules from a Node's status, or
// null if there are none. Before StripNode, which takes the record of them.
Json StripResources(const Json& node, std::string_view instance = {});

// The JSON patch that takes the device plugin's condition from a Node's status, or null if it has
// none. It fails if somebody moved the conditions meanwhile.
Json StripConditions(const Json& node);

// Whether a NodeFeature object was written by an agent of ours.
bool IsOurNodeFeature(const Json& node_feature);

}  // namespace gantry::gpu_operator
