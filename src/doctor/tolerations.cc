// SPDX-License-Identifier: Apache-2.0
// Which taints keep a pod off a node? As the scheduler reads them.
#include "doctor/tolerations.h"

#include <algorithm>

#include "base/text.h"
#include "policy/taints.h"

namespace gantry::doctor {
namespace {

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) {
    return false;
  }
  if (toleration.key.empty()) {
    return toleration.exists;
  }
  return toleration.key == taint.key && (toleration.exists || toleration.value == taint.value);
}

}  // namespace

std::vector<Taint> Untolerated(const PodFacts& pod, const NodeFacts& node) {
  std::vector<Taint> taints;
  for (const Taint& taint : node.taints) {
    const bool tolerated = std::ranges::any_of(
        pod.tolerations, [&taint](const Toleration& each) { return Tolerates(each, taint); });
    if (taint.effect != "PreferNoSchedule" && !tolerated) {
      taints.push_back(taint);
    }
  }
  return taints;
}

std::string TaintText(const Taint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

bool IsKubernetesTaint(const Taint& taint) {
  return taint.key.starts_with(policy::kNodeConditionTaints);
}

bool IsPassing(const ClusterFacts& cluster, const Taint& taint) {
  return policy::PassesByItself(taint.key) ||
         std::ranges::find(cluster.operators, taint.key, &OperatorFacts::startup_taint) !=
             cluster.operators.end();
}

std::string TolerationOf(const Taint& taint) {
  return format("{{key: {}, operator: Exists}}", taint.key);
}

}  // namespace gantry::doctor
