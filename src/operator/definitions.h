// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace gantry::gpu_operator {

// The CustomResourceDefinition that a YAML text holds. kInvalid if it holds something else.
Result<Json> ParseDefinition(std::string_view yaml);

// The merge patch that makes of a definition in the cluster the one that is wanted, or null if it
// stays as it is: those of node feature discovery are another's unless they have our label.
Json DefinitionPatch(const Json& wanted, const Json& there);

// Whether the API server has taken the kind up.
bool IsEstablished(const Json& definition);

}  // namespace gantry::gpu_operator
