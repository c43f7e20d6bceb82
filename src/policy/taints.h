// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gantry::policy {

// Of the taints that Kubernetes itself sets while a node is ill or cordoned.
inline constexpr std::string_view kNodeConditionTaints = "node.kubernetes.io/";

// Whether a taint of that key goes by itself: whoever starts nodes, or takes them away, sets it
// meanwhile. Nobody need tolerate it.
bool PassesByItself(std::string_view taint_key);

}  // namespace gantry::policy
