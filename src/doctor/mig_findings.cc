// SPDX-License-Identifier: Apache-2.0
// Does a node get the MIG layout that its label asks for, and can it be offered?
#include "doctor/mig_findings.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "doctor/node_choice.h"
#include "doctor/node_stage.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

// A MIG layout is changed within a minute, and clients are given ten to end.
constexpr std::chrono::minutes kMigPatience(15);

}  // namespace

std::optional<Finding> MigChange(const StagedCluster& cluster, const NodeFacts& node) {
  const std::string state = ValueOf(node, names::kMigConfigState);
  const std::string layout = ValueOf(node, names::kMigConfig);
  if (state == "failed") {
    return Problem("MigChangeFailed", NodeName(node),
                   format("could not be given the MIG layout {}", layout),
                   format("look at the MIG manager's log there, then set the label {} once more",
                          names::kMigConfig));
  }
  if (!cluster.Of(node).mig_changing) {
    return std::nullopt;
  }
  if (!node.holders.empty()) {
    return Note("MigChangeWaits", NodeName(node),
                format("gets the MIG layout {} when the pods that hold its GPUs have ended: {}",
                       layout, Join(node.holders, ", ")),
                "wait, or end them");
  }
  if (WrittenBefore(cluster.facts, node, names::kMigConfigState, kMigPatience)) {
    return Problem("MigChangeStuck", NodeName(node),
                   format("is to get the MIG layout {} since {}, and nothing happens (state {})",
                          layout, node.written.at(names::kMigConfigState), state),
                   "restart the MIG manager's pod there, or the node if a process outside of "
                   "Kubernetes holds a GPU (nvidia-smi)");
  }
  return std::nullopt;
}

std::optional<Finding> LayoutsDiffer(const NodeFacts& node) {
  if (!ValueOf(node, names::kGpuProduct).ends_with("MIG-INVALID")) {
    return std::nullopt;
  }
  return Problem("MigLayoutsDiffer", NodeName(node),
                 "its GPUs are split in different ways, which the MIG strategy `single` can't "
                 "offer",
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
      format("is to get the MIG layout {}, and no MIG manager is there to do it", layout);
  return LabelIs(node, names::kMigCapable, "false")
             ? Problem("MigNotManaged", NodeName(node), message + ": its GPUs can't be divided",
                       format("take the label off: kubectl label node {} {}-", node.name,
                              names::kMigConfig))
             : Problem("MigNotManaged", NodeName(node), message,
                       "set migManager.enabled=true, and repository, image and version of "
                       "migManager in the ClusterPolicy: it runs from NVIDIA's image only");
}

}  // namespace gantry::doctor
