// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/histogram.h"

namespace gantry::node_features {

// The worker's metrics, under the names of NFD's worker.
struct WorkerMetrics {
  std::string node;
  long long started = 0;  // Unix time
  Histogram discovery_seconds = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1};
};

// Prometheus' text format 0.0.4.
std::string FormatMetrics(const WorkerMetrics& metrics);

}  // namespace gantry::node_features
