// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.h"

namespace gantry::gpu_operator {

// Whether another node feature discovery is running, as far as observed.
struct ForeignNfd {
  bool at_work = false;
  std::optional<SteadyTime> silent_since;  // it ran, and is no longer observed
};

// How long another one must be gone before its nodes are taken over: an upgrade may recreate its
// objects.
inline constexpr std::chrono::seconds kTakeoverDelay(30);

// The state after an observation of the cluster. While `silent_since` is set, requeue after the
// delay.
ForeignNfd NextForeignNfd(const ForeignNfd& before, bool seen, SteadyTime now);

}  // namespace gantry::gpu_operator
