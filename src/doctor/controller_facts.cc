// SPDX-License-Identifier: Apache-2.0
// Which pods does a controller's object still lack, and is it the operator's?
#include "doctor/controller_facts.h"

#include <algorithm>

#include "doctor/object_fields.h"
#include "kube/object.h"

namespace gantry::doctor {
namespace {

bool IsOperand(const ClusterFacts& cluster, const std::string& daemon_set) {
  return IsUnread(cluster, kDaemonSetsPart) ||
         std::ranges::find(cluster.operands, daemon_set, &OperandFacts::name) !=
             cluster.operands.end();
}

}  // namespace

bool IsOperandPod(const ClusterFacts& cluster, const Json& pod) {
  const std::string* app = kube::LabelOf(pod, "app");
  const Json* controller = ControllerOf(pod);
  return (app != nullptr && *app == kOperatorApp) ||
         (controller != nullptr && TextAt(*controller, "kind") == kDaemonSet &&
          IsOperand(cluster, TextAt(*controller, "name")));
}

bool IsOperandController(const ClusterFacts& cluster, const Json& controller) {
  if (TextAt(controller, "kind") == kDaemonSet) {
    return IsOperand(cluster, kube::KeyOf(controller).name);
  }
  const std::string owner = OwnerOf(controller);
  return std::ranges::find(cluster.operators, owner, &OperatorFacts::object) !=
         cluster.operators.end();
}

bool LacksPods(const Json& controller) {
  const std::string kind = TextAt(controller, "kind");
  if (kind == "ReplicaSet" || kind == "StatefulSet" || kind == "ReplicationController") {
    return IntAt(controller, "status.replicas", 0) < IntAt(controller, "spec.replicas", 1);
  }
  if (kind == kDaemonSet) {
    return IntAt(controller, "status.currentNumberScheduled", 0) <
           IntAt(controller, "status.desiredNumberScheduled", 0);
  }
  if (kind == "Job") {
    const auto ends = [](const Condition& condition) {
      return condition.holds && (condition.type == "Complete" || condition.type == "Failed");
    };
    if (BoolAt(controller, "spec.suspend", false) ||
        std::ranges::any_of(ConditionsOf(controller), ends)) {
      return false;
    }
    return IntAt(controller, "status.active", 0) + IntAt(controller, "status.succeeded", 0) <
           std::min(
               IntAt(controller, "spec.parallelism", 1),
               IntAt(controller, "spec.completions", IntAt(controller, "spec.parallelism", 1)));
  }
  return true;
}

bool HasSucceeded(const Json& job) {
  const auto says = [](const Condition& condition) {
    return condition.holds &&
           (condition.type == "Complete" || condition.type == "SuccessCriteriaMet");
  };
  return std::ranges::any_of(ConditionsOf(job), says) ||
         IntAt(job, "status.succeeded", 0) >= IntAt(job, "spec.completions", 1);
}

}  // namespace gantry::doctor
