// SPDX-License-Identifier: Apache-2.0

// Does a DaemonSet wait for pods that no controller creates? Kubernetes' controller tracks the pods
// that it expects by the DaemonSet's name alone. A DaemonSet that is deleted and recreated during a
// roll-out gets no pods: its controller waits for those of the earlier one, and after that timeout
// it does not reconcile again before a change.

#include "operator/stalled.h"

#include <algorithm>

namespace gantry::gpu_operator {

Stalled NextStalled(const Stalled& before, const std::map<std::string, DaemonSetFacts>& daemon_sets,
                    SteadyTime now) {
  Stalled stalled;
  for (const auto& [name, facts] : daemon_sets) {
    if (facts.current >= facts.desired) {
      continue;
    }
    const auto known = before.since.find(name);
    SteadyTime since = known == before.since.end() ? now : known->second;
    if (now - since >= kStalls) {
      stalled.due.push_back(name);
      since = now;
    }
    stalled.since[name] = since;
    stalled.next = std::min(stalled.next.value_or(since + kStalls), since + kStalls);
  }
  return stalled;
}

}  // namespace gantry::gpu_operator
