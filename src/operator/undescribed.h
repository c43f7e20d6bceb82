// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace gantry::gpu_operator {

// How long an undescribed node keeps a policy from being ready.
inline constexpr std::chrono::seconds kDescribing(60);

// Nodes that node feature discovery has not described, as far as observed.
struct Undescribed {
  bool looked = false;
  std::map<std::string, SteadyTime> since;  // by the node's name
  std::vector<std::string> awaited;         // those that may still be described
  std::optional<SteadyTime> next;           // when the wait for one of them ends
};

// The state after an observation with these nodes. `ready`: from the policy's status; the nodes of
// the first observation did not keep it from that.
Undescribed NextUndescribed(const Undescribed& before, const std::vector<std::string>& names,
                            bool ready, SteadyTime now);

}  // namespace gantry::gpu_operator
