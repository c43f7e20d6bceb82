// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "operands/metrics_exporter/flags.h"
#include "operands/metrics_exporter/pods.h"

namespace gantry::metrics_exporter {

// nullptr: neither pods nor jobs are asked for.
std::unique_ptr<PodFollower> FollowPods(const Flags& flags, std::function<void(PodsSeen)> tell);

// Where the processes of shared GPUs are looked up; empty: nowhere. Logs why they can't be.
std::string ProcessesRoot(const Flags& flags);

}  // namespace gantry::metrics_exporter
