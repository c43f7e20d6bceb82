// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "base/histogram.h"

namespace gantry::kube {

// The counts of one controller since its start.
struct ControllerMetrics {
  std::string name;
  int workers = 0;
  int active = 0;  // running reconciles
  size_t waiting = 0;
  long long successes = 0;
  long long retries = 0;  // reconciles that asked for a requeue
  long long errors = 0;
  Histogram seconds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
};

// Under controller-runtime's names (`controller_runtime_*`, `workqueue_depth`), in Prometheus' text
// format 0.0.4.
std::string FormatMetrics(std::span<const ControllerMetrics> controllers);

}  // namespace gantry::kube
