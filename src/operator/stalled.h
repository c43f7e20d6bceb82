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

// Nodes lack a DaemonSet's pod for as long as this: its controller is asked to look again. It
// believes for 5 minutes in pods that it has asked for (Kubernetes 1.36, ExpectationsTimeout).
inline constexpr std::chrono::seconds kStalls(305);
// Annotation of a DaemonSet: when that was.
inline constexpr char kAskedForPods[] = "nvidia.com/gpu-operator.asked-for-pods";

struct Stalled {
  std::map<std::string, SteadyTime> since;  // by the DaemonSet's name
  std::vector<std::string> due;             // those to ask for now
  std::optional<SteadyTime> next;           // when another may be due
};

// What has become of `before` by now.
Stalled NextStalled(const Stalled& before, const std::map<std::string, DaemonSetFacts>& daemon_sets,
                    SteadyTime now);

}  // namespace gantry::gpu_operator
