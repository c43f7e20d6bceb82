// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace gantry::gpu_operator {

// How long a node that is not described yet keeps a policy from being ready.
inline constexpr std::chrono::seconds kDescribing(60);

// Nodes that node feature discovery has not described, as far as was seen.
struct Undescribed {
  bool looked = false;
  std::map<std::string, SteadyTime> since;  // by the node's name
  std::vector<std::string> awaited;         // those that may still be described
  std::optional<SteadyTime> next;           // when one of them is given up
};

// The state after a look at the cluster, which found these. `ready`: what the policy's status says;
// those that are found at the first look did not keep it from that.
Undescribed NextUndescribed(const Undescribed& before, const std::vector<std::string>& names,
                            bool ready, SteadyTime now);

}  // namespace gantry::gpu_operator
