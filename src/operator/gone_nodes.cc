// SPDX-License-Identifier: Apache-2.0

// For how long has a node been gone? Counted from when this process missed it: the wait begins
// again after a restart, so nothing needs to be stored.

#include "operator/gone_nodes.h"

#include <algorithm>

namespace gantry::gpu_operator {

std::chrono::milliseconds GoneNodes::Missed(const std::string& node, SteadyTime now) {
  const SteadyTime since = missed_since_.try_emplace(node, now).first->second;
  return std::max(std::chrono::milliseconds(0),
                  std::chrono::ceil<std::chrono::milliseconds>(since + kStays - now));
}

}  // namespace gantry::gpu_operator
