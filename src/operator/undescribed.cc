// SPDX-License-Identifier: Apache-2.0

// Which nodes may have GPUs that are not known yet? Those without a description by node feature
// discovery, for as long as a worker may take to start. A node where it never runs (a virtual one,
// one with too little memory) stays unknown, and must not keep the GPU nodes from being ready.

#include "operator/undescribed.h"

#include <algorithm>

namespace gantry::gpu_operator {

Undescribed NextUndescribed(const Undescribed& before, const std::vector<std::string>& names,
                            bool ready, SteadyTime now) {
  Undescribed after{.looked = true, .since = {}, .awaited = {}, .next = std::nullopt};
  const SteadyTime first = !before.looked && ready ? now - kDescribing : now;
  for (const std::string& name : names) {
    const auto known = before.since.find(name);
    const SteadyTime since = known == before.since.end() ? first : known->second;
    after.since.emplace(name, since);
    if (now - since < kDescribing) {
      after.awaited.push_back(name);
      after.next = std::min(after.next.value_or(since + kDescribing), since + kDescribing);
    }
  }
  return after;
}

}  // namespace gantry::gpu_operator
