// SPDX-License-Identifier: Apache-2.0

// Which metrics does the operator export? Under NVIDIA's names, so that dashboards and alerts keep
// working, and under NFD's if the operator is its master. The counts of writes are Gantry's own,
// and constant while nothing changes.

#include "operator/metrics.h"

#include "base/metric_text.h"
#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

// NFD's histogram has labels for node and rule; that would be a million lines in a large cluster.
std::string FormatNfd(const NfdMetrics& metrics) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view help, long long value) {
    const std::string whole = format("nfd_{}", name);
    text += MetricHeading(whole, "counter", help) + format("{} {}\n", whole, value);
  };
  for (const char* program : {"master", "gc"}) {
    const std::string name = format("nfd_{}_build_info", program);
    text += MetricHeading(name, "gauge", "Unix time of the operator's start, and its version.") +
            format("{}{{version=\"{}\"}} {}\n", name, GANTRY_VERSION, metrics.started);
  }
  add("master_node_update_requests_total", "Looks at what a node should have.", metrics.requests);
  add("master_node_updates_total", "Nodes changed.", metrics.updates);
  add("master_node_update_failures_total", "Changes of nodes that failed.", metrics.failures);
  add("master_node_labels_rejected_total", "Labels that were refused.", metrics.rejected_labels);
  add("master_node_extendedresources_rejected_total", "Extended resources that were refused.",
      metrics.rejected_resources);
  add("master_node_taints_rejected_total", "Taints that were refused.", metrics.rejected_taints);
  add("master_nodefeaturerule_processing_errors_total", "Rules that could not be worked out.",
      metrics.rule_errors);
  text += metrics.rule_seconds.Text("nfd_master_nodefeaturerule_processing_duration_seconds",
                                    "Time that all rules took for a node.");
  add("gc_objects_deleted_total", "NodeFeatures of gone nodes that were deleted.",
      metrics.collected);
  add("gc_object_delete_failures_total", "Deletions of NodeFeatures that failed.",
      metrics.collect_failures);
  return text;
}

}  // namespace

void Metrics::Judged(bool ready, WallTime now) {
  status = ready ? 1 : 0;
  if (ready) {
    last_success_seconds = upgrade::UnixSeconds(now);
  } else {
    ++failures;
  }
}

std::string FormatMetrics(const Metrics& metrics) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view type, std::string_view help,
                       long long value) {
    const std::string whole = format("gpu_operator_{}", name);
    text += MetricHeading(whole, type, help) + format("{} {}\n", whole, value);
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
  const upgrade::Counts& upgrades = metrics.upgrades;
  add("nodes_upgrades_in_progress", "gauge",
      "Nodes whose driver is being upgraded, or could not be.", upgrades.in_progress);
  add("nodes_upgrades_done", "gauge", "Nodes whose driver is up to date.", upgrades.done);
  add("nodes_upgrades_failed", "gauge", "Nodes whose driver could not be upgraded.",
      upgrades.failed);
  add("nodes_upgrades_available", "gauge", "Nodes whose driver's upgrade might start now.",
      upgrades.available);
  add("nodes_upgrades_pending", "gauge", "Nodes whose driver's upgrade waits for its turn.",
      upgrades.pending);
  add("openshift_driver_toolkit_enabled", "gauge",
      "1: drivers are built with OpenShift's driver toolkit, 0: they need not, -1: they can't.",
      metrics.toolkit.enabled);
  add("openshift_driver_toolkit_nfd_too_old", "gauge",
      "Whether GPU nodes lack the label of their RHCOS version.", metrics.toolkit.nfd_too_old);
  add("openshift_driver_toolkit_imagestream_missing", "gauge",
      "Whether the toolkit's ImageStream is missing.", metrics.toolkit.image_stream_missing);
  add("openshift_driver_toolkit_imagestream_broken", "gauge",
      "Whether tags of the toolkit's ImageStream have no name.",
      metrics.toolkit.image_stream_broken);
  add("openshift_driver_toolkit_rhcos_tags_missing", "gauge",
      "Whether the toolkit lacks an image for the RHCOS version of a GPU node.",
      metrics.toolkit.rhcos_tags_missing);
  add("node_writes_total", "counter", "Patches of nodes.", metrics.node_writes);
  add("object_writes_total", "counter", "Objects of operands created, replaced or removed.",
      metrics.object_writes);
  add("status_writes_total", "counter", "Patches of a ClusterPolicy's status.",
      metrics.status_writes);
  return text + FormatNfd(metrics.nfd);
}

std::string FormatLeader(bool leads) {
  constexpr std::string_view kName = "leader_election_master_status";
  return MetricHeading(kName, "gauge", "Whether this process is the leader.") +
         format("{}{{name=\"{}\"}} {}\n", kName, names::kOperatorLease, leads ? 1 : 0);
}

}  // namespace gantry::gpu_operator
