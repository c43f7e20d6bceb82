// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/clock.h"

namespace gantry::gpu_operator {

// Nodes that are gone, and may come back: a deleted Node registers again when its kubelet restarts,
// and its operands, which kept running, do not publish their features again.
class GoneNodes {
 public:
  // How long a gone node's features are kept: longer than its pods, whose agents would not publish
  // again. Kubernetes' collector checks for nodes every 20 s, and deletes the pods of one that is
  // missing for 40 s (80 s at most).
  static constexpr std::chrono::seconds kStays{90};

  // How long a missed node may still stay away; zero: it is gone for good.
  std::chrono::milliseconds Missed(const std::string& node, SteadyTime now);
  // It exists, or has left nothing.
  void Forget(const std::string& node) { missed_since_.erase(node); }

 private:
  std::map<std::string, SteadyTime> missed_since_;
};

}  // namespace gantry::gpu_operator
