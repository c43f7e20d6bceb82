// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "operator/daemon_set_facts.h"

namespace gantry::gpu_operator {

// If nodes lack a DaemonSet's pod for this long, its controller is triggered. It expects the pods
// that it requested for 5 minutes (Kubernetes 1.36, ExpectationsTimeout).
inline constexpr std::chrono::seconds kStalls(305);
// Annotation of a DaemonSet: when that was done.
inline constexpr char kAskedForPods[] = "nvidia.com/gpu-operator.asked-for-pods";

struct Stalled {
  std::map<std::string, SteadyTime> since;  // by the DaemonSet's name
  std::vector<std::string> due;             // those to trigger now
  std::optional<SteadyTime> next;           // when another may be due
};

// The next state after `before`.
Stalled NextStalled(const Stalled& before, const std::map<std::string, DaemonSetFacts>& daemon_sets,
                    SteadyTime now);

}  // namespace gantry::gpu_operator
