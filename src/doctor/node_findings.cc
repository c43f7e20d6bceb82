// SPDX-License-Identifier: Apache-2.0
// What is wrong with a GPU node? One finding a node: that of the first question below that has one.
#include "doctor/node_findings.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "doctor/claim_findings.h"
#include "doctor/cluster_findings.h"
#include "doctor/mig_findings.h"
#include "doctor/node_lacks.h"
#include "doctor/node_not_ready.h"
#include "doctor/upgrade_findings.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

std::optional<Finding> Paused(const StagedCluster& cluster, const std::vector<Finding>& findings,
                              const NodeFacts& node) {
  const NodeStage& stage = cluster.Of(node);
  if (!stage.pause_left ||
      (stage.driver != nullptr && IsExplained(findings, ObjectOf(*stage.driver), node.name))) {
    return std::nullopt;
  }
  const std::string label = DeployLabel("device-plugin");
  return Problem(
      "OperandsPaused", NodeName(node),
      format("its operands have been paused for {} since {}, but none is in progress ({}={})",
             stage.pause != names::kDeployPaused ? "a MIG layout change" : "a driver upgrade",
             node.written.at(label), label, ValueOf(node, label)),
      format("kubectl label node {} --overwrite {}=true; do the same for its other labels {}* with "
             "that value",
             node.name, label, names::kDeployPrefix));
}

// The same for a device plugin that does not run: it has its own finding.
std::optional<Finding> Unhealthy(const StagedCluster& cluster, const std::vector<Finding>& findings,
                                 const NodeFacts& node) {
  const long long capacity = SumOf(node.capacity);
  const long long allocatable = SumOf(node.allocatable);
  const bool awaited = OffersNothing(node) && IsPluginAwaited(cluster, findings, node);
  // Its pods were removed with the operator's, and come back with it.
  const auto& operands = cluster.facts.operands;
  const bool stopped =
      OffersNothing(node) &&
      std::ranges::find(findings, kOperatorStopped, &Finding::code) != findings.end() &&
      std::ranges::find(operands, kDevicePluginSet, &OperandFacts::name) == operands.end();
  if (cluster.Of(node).gpus_unhealthy && !awaited && !stopped) {
    if (OffersNothing(node) && RefusesSettings(node)) {
      return OfSettings(cluster.facts, findings, node);
    }
    return Problem("GpusUnhealthy", NodeName(node),
                   format("{} of its {} GPUs are unhealthy{}", capacity - allocatable, capacity,
                          node.gpus_out.empty() ? "" : ": " + node.gpus_out),
                   format("kubectl describe node {} shows the reason in its events; a GPU returns "
                          "to service by itself when it responds again",
                          node.name));
  }
  return std::nullopt;
}

std::optional<Finding> Labelled(const StagedCluster& cluster, const NodeFacts& node) {
  if (std::optional<Finding> differ = LayoutsDiffer(node)) {
    return differ;
  }
  if (ValueOf(node, names::kGpuProduct).empty() && cluster.Of(node).labels_wanted) {
    return Problem("LabelsMissing", NodeName(node),
                   "offers GPUs, but has no labels of GPU feature discovery",
                   "read the log of GPU feature discovery there: kubectl logs -A -l "
                   "app=gpu-feature-discovery --prefix");
  }
  return std::nullopt;
}

// The operator has written this, and does not take it back automatically.
Finding GpusGone(const NodeFacts& node) {
  return Problem("GpusGone", NodeName(node),
                 "had GPUs, but node feature discovery no longer finds an NVIDIA GPU there",
                 format("if they were removed: kubectl label node {} {}-; else run `lspci -d "
                        "10de:` there, and check the configuration of node feature discovery",
                        node.name, names::kGpuPresent));
}

void ExamineNode(const StagedCluster& cluster, const NodeFacts& node,
                 std::vector<Finding>& findings) {
  const NodeStage& stage = cluster.Of(node);
  if (LabelIs(node, names::kGpuPresent, "false") && !stage.has_gpu) {
    findings.push_back(GpusGone(node));
    return;
  }
  if (!stage.has_gpu || LabelIs(node, names::kDeployOperands, "false")) {
    return;
  }
  if (!node.ready) {
    findings.push_back(NodeNotReady(cluster.facts, node));
    return;
  }
  for (auto* examine : {MigChange, DriverUpgrade, LeftCordoned}) {
    if (std::optional<Finding> finding = examine(cluster, node)) {
      findings.push_back(*std::move(finding));
      return;
    }
  }
  if (stage.changing()) {
    return;
  }
  if (!stage.lacks.empty()) {
    if (std::optional<Finding> finding = WhyNoGpus(cluster, findings, node)) {
      findings.push_back(*std::move(finding));
    }
    return;
  }
  std::optional<Finding> finding = Paused(cluster, findings, node);
  if (!finding) {
    finding = Unhealthy(cluster, findings, node);
  }
  if (!finding) {
    finding = NoDevices(cluster, node);
  }
  // The last one is not missed at once.
  if (!finding && !stage.is_new && !stage.awaits_verdict) {
    finding = Labelled(cluster, node);
    if (!finding) {
      finding = MigUnmanaged(cluster.facts, node);
    }
  }
  if (finding) {
    findings.push_back(*std::move(finding));
  }
}

}  // namespace

void ExamineNodes(const StagedCluster& cluster, std::vector<Finding>& findings) {
  for (const NodeFacts& node : cluster.facts.nodes) {
    ExamineNode(cluster, node, findings);
  }
}

}  // namespace gantry::doctor
