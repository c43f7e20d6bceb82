// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"
#include "base/histogram.h"
#include "operator/openshift.h"
#include "operator/upgrade/roll_out.h"

namespace gantry::gpu_operator {

// Metrics of node feature discovery's master and its garbage collector, under NFD's names.
struct NfdMetrics {
  long long started = 0;  // Unix time
  long long requests = 0;
  long long updates = 0;
  long long failures = 0;
  // Counted again at each reconcile of the node.
  long long rejected_labels = 0;
  long long rejected_resources = 0;
  long long rejected_taints = 0;
  long long rule_errors = 0;
  Histogram rule_seconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01};
  long long collected = 0;
  long long collect_failures = 0;
};

// Counts of writes on Nodes.
struct NodeMetrics {
  long long writes = 0;
  NfdMetrics nfd;
};

// The content of /metrics, under NVIDIA's names.
struct Metrics {
  int gpu_nodes = 0;
  long long last_success_seconds = 0;  // Unix time
  int status = -1;                     // 1 ready, 0 operands not ready, -1 no ClusterPolicy
  long long reconciles = 0;
  long long failures = 0;
  bool has_nfd_labels = false;
  bool auto_upgrade = false;
  upgrade::Counts upgrades;
  ToolkitState toolkit;
  long long node_writes = 0;
  long long object_writes = 0;
  long long status_writes = 0;
  NfdMetrics nfd;

  // A ClusterPolicy was judged ready, or not.
  void Judged(bool ready, WallTime now);
};

// In Prometheus' text format.
std::string FormatMetrics(const Metrics& metrics);

// Whether this process is the leader, under client-go's name; 0 without leader election.
std::string FormatLeader(bool leads);

}  // namespace gantry::gpu_operator
