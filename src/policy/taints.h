// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gantry::policy {

// The prefix of the taints that Kubernetes itself sets on an unhealthy or cordoned node.
inline constexpr std::string_view kNodeConditionTaints = "node.kubernetes.io/";

// Whether a taint of that key is temporary: the component that starts or removes nodes sets it
// meanwhile. No pod needs to tolerate it.
bool PassesByItself(std::string_view taint_key);

}  // namespace gantry::policy
