// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <set>
#include <string>

#include "base/error.h"
#include "kube/client.h"

namespace gantry::gpu_operator {

// Annotation of a CRD whose deletion is stuck: when it was last changed so that the API server
// requeues it.
inline constexpr char kAskedToGo[] = "nvidia.com/gpu-operator.asked-to-go";

// Waits until CRDs that are being deleted are gone; an existing one that is not being deleted was
// created again, and counts as gone. Blocks; needs the verbs list and watch. kTimeout: some still
// exist, with the reason for the first; kDenied: no right to watch them.
Status AwaitGone(kube::Client& client, std::set<std::string> definitions,
                 std::chrono::milliseconds at_most);

}  // namespace gantry::gpu_operator
