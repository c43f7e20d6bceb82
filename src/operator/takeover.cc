// SPDX-License-Identifier: Apache-2.0

// Is another node feature discovery running? Two that describe the same nodes would overwrite each
// other, so Gantry's waits until the other is gone for good; its labels stay on the nodes
// meanwhile.

#include "operator/takeover.h"

namespace gantry::gpu_operator {

ForeignNfd NextForeignNfd(const ForeignNfd& before, bool seen, SteadyTime now) {
  if (seen) {
    return {.at_work = true, .silent_since = std::nullopt};
  }
  if (!before.at_work) {
    return {};
  }
  const SteadyTime since = before.silent_since.value_or(now);
  return now - since >= kTakeoverDelay ? ForeignNfd{} : ForeignNfd{true, since};
}

}  // namespace gantry::gpu_operator
