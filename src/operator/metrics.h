// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gantry::gpu_operator {

// What /metrics says, under NVIDIA's names.
struct Metrics {
  int gpu_nodes = 0;
  long long last_success_seconds = 0;  // Unix time
  int status = -1;                     // 1 ready, 0 operands not ready, -1 no ClusterPolicy
  long long reconciles = 0;
  long long failures = 0;
  bool has_nfd_labels = false;
  bool auto_upgrade = false;
  long long node_writes = 0;
  long long object_writes = 0;
  long long status_writes = 0;
};

// In Prometheus' text format.
std::string FormatMetrics(const Metrics& metrics);

}  // namespace gantry::gpu_operator
