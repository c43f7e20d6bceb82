// SPDX-License-Identifier: Apache-2.0
// Which operands, or the operator itself, lack running pods without another explanation?
#include "doctor/operand_findings.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "doctor/node_choice.h"
#include "doctor/scheduler_message.h"
#include "policy/reasons.h"

namespace gantry::doctor {

void ExamineOperators(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  for (const OperatorFacts& deployment : cluster.operators) {
    if (deployment.wanted > 0 && deployment.available == 0 &&
        !IsExplained(findings, deployment.object)) {
      const bool starts = IsNew(cluster, deployment.since);
      findings.push_back((starts ? Note : Problem)(
          "OperatorNotRunning", deployment.object, "has no running pod",
          starts ? "wait: it is starting"
                 : "use kubectl describe and kubectl logs on its pod (-l app=gpu-operator)"));
    }
  }
}

// A node's own finding says what the node lacks, not each operand that waits for it.
void ExamineOperands(const StagedCluster& cluster, std::vector<Finding>& findings) {
  std::map<std::string, const NodeFacts*> unsettled;
  for (const NodeFacts& node : cluster.facts.nodes) {
    if (cluster.Of(node).unsettled) {
      unsettled.emplace(node.name, &node);
    }
  }
  for (const OperandFacts& operand : cluster.facts.operands) {
    if (IsNew(cluster.facts, operand.made_at)) {
      continue;
    }
    const auto excused =
        std::ranges::count_if(
            unsettled,
            [&operand](const auto& each) { return Takes(operand.choice, *each.second); }) +
        std::ranges::count_if(operand.young, [&unsettled](const std::string& node) {
          return !unsettled.contains(node);
        });
    const bool explained = IsExplained(findings, ObjectOf(operand));
    if (operand.desired - operand.ready > excused && !explained) {
      const bool placed = operand.scheduler.empty();
      findings.push_back(
          Problem(reasons::kOperandNotReady, "DaemonSet " + operand.name,
                  format("{} of {} pods are ready{}", operand.ready, operand.desired,
                         placed ? "" : ": " + FirstSentence(operand.scheduler)),
                  placed ? format("use kubectl describe and kubectl logs on its pods (-l app={})",
                                  operand.name)
                         : "set resources of its section in the ClusterPolicy, or free resources "
                           "on the node"));
    }
  }
}

}  // namespace gantry::doctor
