// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "base/json.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

// The merge patch that removes what the operator wrote on a Node, or null if there is nothing:
// gpu.present, deploy labels that it set, labels from NodeFeature objects, its start-up taint, and
// its annotations. Values set by hand (a deploy label of another value) are kept. `instance`: as
// NfdRecord has it.
Json StripNode(const Json& node, std::string_view instance = {});

// The merge patch that removes the extended resources of NodeFeatureRules from a Node's status, or
// null if there are none. Apply it before StripNode, which removes their record.
Json StripResources(const Json& node, std::string_view instance = {});

// Gantry's conditions of a Node.
inline constexpr std::array<std::string_view, 2> kOwnConditions = {names::kGpuHealthyCondition,
                                                                   names::kMigHeldCondition};
// The JSON patch that removes conditions of these types from a Node's status, or null if it has
// none. It fails if the order of the conditions changed meanwhile.
Json StripConditions(const Json& node, std::span<const std::string_view> types = kOwnConditions);

// Whether one of Gantry's agents wrote a NodeFeature object.
bool IsOurNodeFeature(const Json& node_feature);

}  // namespace gantry::gpu_operator
