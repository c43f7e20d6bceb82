// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/clock.h"

namespace gantry::gpu_operator {

// Nodes that are gone, and may come back: a Node that somebody deletes registers anew when its
// kubelet is restarted, and its operands, which ran on, say nothing again of what they have said.
class GoneNodes {
 public:
  // Until then what a node has said stays. Longer than its pods do, with which the agents that
  // would not speak again are gone: Kubernetes' collector looks for nodes each 20 s, and takes the
  // pods of one that it misses for 40 s (80 s at most).
  static constexpr std::chrono::seconds kStays{90};

  // How long a node that is missed now may stay away yet; zero: it is gone for good.
  std::chrono::milliseconds Missed(const std::string& node, SteadyTime now);
  // It is there, or has left nothing.
  void Forget(const std::string& node) { missed_since_.erase(node); }

 private:
  std::map<std::string, SteadyTime> missed_since_;
};

}  // namespace gantry::gpu_operator
