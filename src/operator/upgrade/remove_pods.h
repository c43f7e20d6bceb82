// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kube/client.h"
#include "operator/upgrade/pod_removal.h"

namespace gantry::gpu_operator::upgrade {

// Evicts pods, or deletes them whatever their disruption budgets say. A refusal is not an error: a
// budget may allow it later. Blocks for its requests.
enum class RemoveBy { kEviction, kDeletion };
Eviction Remove(kube::Client& client, const std::vector<PodRef>& pods, RemoveBy by, WallTime at);

}  // namespace gantry::gpu_operator::upgrade
