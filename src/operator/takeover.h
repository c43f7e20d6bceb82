// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.h"

namespace gantry::gpu_operator {

// Whether another node feature discovery is at work, as far as was seen.
struct ForeignNfd {
  bool at_work = false;
  std::optional<SteadyTime> silent_since;  // it was at work, and is not seen any more
};

// How long another one must be gone before its nodes are taken over: while it is upgraded, its
// objects may be made anew.
inline constexpr std::chrono::seconds kTakeoverDelay(30);

// The state after a look at the cluster. While `silent_since` is set, reconcile again after the
// delay.
ForeignNfd NextForeignNfd(const ForeignNfd& before, bool seen, SteadyTime now);

}  // namespace gantry::gpu_operator
