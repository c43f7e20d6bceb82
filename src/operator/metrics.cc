// SPDX-License-Identifier: Apache-2.0

// What do the operator's metrics look like? NVIDIA's names, so that dashboards and alerts go on
// working; the counts of writes are ours, and stay where they are while nothing changes.

#include "operator/metrics.h"

#include "base/text.h"

namespace gantry::gpu_operator {

std::string FormatMetrics(const Metrics& metrics) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view type, std::string_view help,
                       long long value) {
    text +=
        format("# HELP gpu_operator_{0} {1}\n# TYPE gpu_operator_{0} {2}\ngpu_operator_{0} {3}\n",
               name, help, type, value);
  };
  add("gpu_nodes_total", "gauge", "Nodes with GPUs.", metrics.gpu_nodes);
  add("reconciliation_last_success_ts_seconds", "gauge",
      "Unix time of the last reconciliation that found everything ready.",
      metrics.last_success_seconds);
  add("reconciliation_status", "gauge",
      "1: ready, 0: operands are not ready, -1: there is no ClusterPolicy.", metrics.status);
  add("reconciliation_total", "counter", "Reconciliations.", metrics.reconciles);
  add("reconciliation_failed_total", "counter", "Reconciliations that found something not ready.",
      metrics.failures);
  add("reconciliation_has_nfd_labels", "gauge",
      "Whether any node has labels of node feature discovery.", metrics.has_nfd_labels ? 1 : 0);
  add("driver_auto_upgrade_enabled", "gauge", "Whether drivers are upgraded by the operator.",
      metrics.auto_upgrade ? 1 : 0);
  add("node_writes_total", "counter", "Patches of nodes.", metrics.node_writes);
  add("object_writes_total", "counter", "Objects of operands created, replaced or removed.",
      metrics.object_writes);
  add("status_writes_total", "counter", "Patches of a ClusterPolicy's status.",
      metrics.status_writes);
  return text;
}

}  // namespace gantry::gpu_operator
