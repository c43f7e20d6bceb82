// SPDX-License-Identifier: Apache-2.0
// Does a node get the MIG layout of its label, and can the device plugin offer it?
#include "doctor/mig_findings.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "doctor/node_choice.h"
#include "doctor/node_stage.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

// A MIG layout is applied within a minute, and clients get ten to end.
constexpr std::chrono::minutes kMigPatience(15);

}  // namespace

std::optional<Finding> MigChange(const StagedCluster& cluster, const NodeFacts& node) {
  const std::string state = ValueOf(node, names::kMigConfigState);
  const std::string layout = ValueOf(node, names::kMigConfig);
  const bool failed = state == names::kMigFailed;
  if (!node.mig_held.empty() && (failed || cluster.Of(node).mig_changing)) {
    return failed ? Problem("MigChangeFailed", NodeName(node),
                            "does not get its MIG layout " + node.mig_held,
                            "end them, or set migManager.gpuHolders.action=evict in the "
                            "ClusterPolicy")
                  : Note("MigChangeWaits", NodeName(node),
                         "waits for its MIG layout " + node.mig_held, "wait, or end them");
  }
  if (failed) {
    const std::string holders =
        node.holders.empty() ? "" : "; pods with GPUs there: " + Join(node.holders, ", ");
    return Problem("MigChangeFailed", NodeName(node),
                   format("could not be changed to the MIG layout {}{}", layout, holders),
                   "read the MIG manager's event there (kubectl describe node): it says why");
  }
  if (!cluster.Of(node).mig_changing) {
    return std::nullopt;
  }
  if (!node.holders.empty()) {
    return Note("MigChangeWaits", NodeName(node),
                format("waits to change to the MIG layout {} until these pods release its GPUs: {}",
                       layout, Join(node.holders, ", ")),
                "wait, or end them");
  }
  if (WrittenBefore(cluster.facts, node, names::kMigConfigState, kMigPatience)) {
    return Problem("MigChangeStuck", NodeName(node),
                   format("has waited for the MIG layout {} since {} (state {})", layout,
                          node.written.at(names::kMigConfigState), state),
                   "restart the MIG manager's pod there, or the node if a process outside of "
                   "Kubernetes uses a GPU (nvidia-smi)");
  }
  return std::nullopt;
}

std::optional<Finding> LayoutsDiffer(const NodeFacts& node) {
  if (!ValueOf(node, names::kGpuProduct).ends_with("MIG-INVALID")) {
    return std::nullopt;
  }
  return Problem("MigLayoutsDiffer", NodeName(node),
                 "its GPUs have different MIG layouts, which the MIG strategy `single` can't offer",
                 "give all of its GPUs one layout, or set mig.strategy=mixed");
}

std::optional<Finding> MigUnmanaged(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string layout = ValueOf(node, names::kMigConfig);
  const bool asked =
      !layout.empty() && layout != "all-disabled" && ValueOf(node, names::kMigConfigState).empty();
  const bool managed = std::ranges::any_of(cluster.operands, [&node](const OperandFacts& operand) {
    return operand.name == "nvidia-mig-manager" && Takes(operand.choice, node);
  });
  if (!asked || managed || IsUnread(cluster, kDaemonSetsPart)) {
    return std::nullopt;
  }
  const std::string message =
      format("waits for the MIG layout {}, but no MIG manager runs there", layout);
  return LabelIs(node, names::kMigCapable, "false")
             ? Problem("MigNotManaged", NodeName(node), message + ": its GPUs do not support MIG",
                       format("remove the label: kubectl label node {} {}-", node.name,
                              names::kMigConfig))
             : Problem("MigNotManaged", NodeName(node), message,
                       "set migManager.enabled=true in the ClusterPolicy, and see whether the node "
                       "has the label nvidia.com/gpu.deploy.mig-manager=true");
}

}  // namespace gantry::doctor
