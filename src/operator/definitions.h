// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace gantry::gpu_operator {

// The CustomResourceDefinitions among the documents of a YAML file, possibly none. kInvalid if it
// is not YAML, or one has no name.
Result<std::vector<Json>> ParseDefinitions(std::string_view yaml);

// Whether a CRD in the cluster must not be changed or deleted: node feature discovery's, unless it
// has Gantry's label.
bool IsAnothers(const Json& there);

// The merge patch that turns a CRD in the cluster into the wanted one.
Json DefinitionPatch(const Json& wanted);

// Whether the API server serves the kind.
bool IsEstablished(const Json& definition);

bool IsBeingDeleted(const Json& definition);

// The API server's reason why a CRD that is being deleted still exists; empty before it has checked
// the CRD's objects.
std::string WhyStillThere(const Json& definition);

}  // namespace gantry::gpu_operator
