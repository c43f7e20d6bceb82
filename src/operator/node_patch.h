// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "operator/node_labels.h"

namespace gantry::gpu_operator {

// The merge patch of a change without resources; `taints` are the node's present ones (core/v1
// Taint), null if none change.
Json PatchOf(const NodeChange& change, const Json& taints = Json());
// The merge patch of its resources on the node's status.
Json ResourcePatchOf(const NodeChange& change);

}  // namespace gantry::gpu_operator
