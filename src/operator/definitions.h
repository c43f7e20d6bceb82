// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace gantry::gpu_operator {

// The CustomResourceDefinitions among the documents of a YAML text, which may be none. kInvalid if
// it is no YAML, or one has no name.
Result<std::vector<Json>> ParseDefinitions(std::string_view yaml);

// Whether a definition in the cluster is not ours to change or to delete: those of node feature
// discovery, unless they have our label.
bool IsAnothers(const Json& there);

// The merge patch that makes of a definition in the cluster the one that is wanted.
Json DefinitionPatch(const Json& wanted);

// Whether the API server has taken the kind up.
bool IsEstablished(const Json& definition);

bool IsBeingDeleted(const Json& definition);

// What the API server says about a definition that is being deleted and is still there; it says
// nothing before it has looked for the definition's objects.
std::string WhyStillThere(const Json& definition);

}  // namespace gantry::gpu_operator
