// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <set>
#include <string>

#include "base/error.h"
#include "kube/client.h"

namespace gantry::gpu_operator {

// Annotation of a custom resource definition that does not go: when the API server was last asked
// to look at it again.
inline constexpr char kAskedToGo[] = "nvidia.com/gpu-operator.asked-to-go";

// Waits until custom resource definitions that are being deleted are gone; one that is there and is
// not being deleted has been made again, and counts as gone. Blocks; needs the verbs list
// and watch. kTimeout: some are still there, and why the first is; kDenied: they may not be
// watched.
Status AwaitGone(kube::Client& client, std::set<std::string> definitions,
                 std::chrono::milliseconds at_most);

}  // namespace gantry::gpu_operator
