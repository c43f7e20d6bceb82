// SPDX-License-Identifier: Apache-2.0
// What blocks the upgrade of a node's driver? From the state in its label, and the operator's entry
// in the policy's status.
#include "doctor/upgrade_findings.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

// The operator acts on a deadline at once, and writes its status some seconds later.
constexpr std::chrono::minutes kUpgradeGrace(1);

// The operator's entry on the node's upgrade, if it is about the node's present state.
UpgradeFacts ToldOf(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string state = ValueOf(node, names::kDriverUpgradeState);
  for (const PolicyFacts& policy : cluster.policies) {
    for (const UpgradeFacts& told : policy.upgrades.value_or(UpgradesFacts()).nodes) {
      if (told.node == node.name && told.state == state) {
        return told;
      }
    }
  }
  return {.node = node.name, .state = state};
}

// A step with a deadline ends by time alone.
bool TakesTooLong(const ClusterFacts& cluster, const NodeFacts& node) {
  return WrittenBefore(cluster, node, names::kDriverUpgradeState, kUpgradePatience) &&
         ToldOf(cluster, node).deadline.empty();
}

// A node that waits for its turn is no problem while another one progresses, or if it should get no
// turn.
bool MayWait(const StagedCluster& cluster, const NodeFacts& node) {
  return LabelIs(node, names::kDriverUpgradeState, "upgrade-required") &&
         (LabelIs(node, names::kDriverUpgradeSkip, "true") ||
          std::ranges::any_of(cluster.facts.nodes, [&](const NodeFacts& other) {
            return other.name != node.name && cluster.Of(other).upgrade == Upgrade::kInProgress &&
                   !TakesTooLong(cluster.facts, other);
          }));
}

std::string Because(const UpgradeFacts& told) {
  return told.reason.empty() ? "" : ": " + told.reason;
}

bool IsEmptied(const UpgradeFacts& told) {
  return told.state == "wait-for-jobs-required" || told.state == "pod-deletion-required" ||
         told.state == "drain-required";
}

std::string Until(const UpgradeFacts& told) {
  return told.deadline.empty() ? "" : format(" (until {})", told.deadline);
}

}  // namespace

std::optional<Finding> DriverUpgrade(const StagedCluster& cluster, const NodeFacts& node) {
  const std::string state = ValueOf(node, names::kDriverUpgradeState);
  const Upgrade upgrade = cluster.Of(node).upgrade;
  const bool upgrading = upgrade == Upgrade::kPending || upgrade == Upgrade::kInProgress;
  const UpgradeFacts told = ToldOf(cluster.facts, node);
  if (upgrade == Upgrade::kFailed) {
    return Problem("DriverUpgradeFailed", NodeName(node),
                   "its driver upgrade failed, and it stays cordoned" + Because(told),
                   format("fix the cause (see the log of the driver's pod there), then run kubectl "
                          "label node {} {}-",
                          node.name, names::kDriverUpgradeState));
  }
  if (!told.deadline.empty() && told.deadline < Rfc3339(cluster.facts.now - kUpgradeGrace)) {
    return Problem(
        "DriverUpgradeOverdue", NodeName(node),
        format("its driver upgrade has been in state {} since {}, past its deadline {}{}", state,
               told.since, told.deadline, Because(told)),
        "check that the operator runs, and read its log");
  }
  if (IsEmptied(told) && told.reason.find("disruption budget") != std::string::npos) {
    return Problem(
        "DriverUpgradeHeldByBudget", NodeName(node),
        format("its driver upgrade waits for a PodDisruptionBudget{}{}", Until(told),
               Because(told)),
        "add a replica to the budget's workload, raise its maxUnavailable, or delete the pod");
  }
  if (upgrading && TakesTooLong(cluster.facts, node) && !MayWait(cluster, node)) {
    return Problem("DriverUpgradeStuck", NodeName(node),
                   format("its driver upgrade has been in state {} since {}{}", state,
                          node.written.at(names::kDriverUpgradeState), Because(told)),
                   "check for pods there that do not end (`kubectl get pods -A --field-selector "
                   "spec.nodeName=" +
                       node.name + "`), and check spec.driver.upgradePolicy");
  }
  if (IsEmptied(told) && !told.reason.empty()) {
    return Note("DriverUpgradeWaitsForPods", NodeName(node),
                format("its driver upgrade waits{}{}", Until(told), Because(told)),
                told.state == "wait-for-jobs-required"
                    ? "wait, or set driver.upgradePolicy.waitForCompletion.timeoutSeconds"
                    : "wait, or end those pods");
  }
  return std::nullopt;
}

std::optional<Finding> LeftCordoned(const StagedCluster& cluster, const NodeFacts& node) {
  if (!node.cordoned || !node.upgrade_cordon || cluster.Of(node).upgrade == Upgrade::kInProgress) {
    return std::nullopt;
  }
  return Problem(
      "NodeLeftCordoned", NodeName(node),
      "was cordoned by a driver upgrade that is no longer in progress",
      format("check that the operator runs: it continues the upgrade; else run kubectl uncordon {}",
             node.name));
}

}  // namespace gantry::doctor
