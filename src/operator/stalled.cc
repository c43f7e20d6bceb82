// SPDX-License-Identifier: Apache-2.0

// Does a DaemonSet wait for pods that nobody makes? Kubernetes' controller knows what it has asked
// for by the DaemonSet's name alone. One that is deleted and made again while it is rolled out gets
// no pods: its controller waits for those of the one before, and when it has given them up, it does
// not look again before something changes.

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
