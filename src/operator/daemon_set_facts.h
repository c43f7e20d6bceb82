// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"

namespace gantry::gpu_operator {

// Numbers from a DaemonSet's status (apps/v1) and metadata.
struct DaemonSetFacts {
  long long generation = 0;
  long long observed_generation = -1;
  int desired = 0;
  int updated = 0;
  int available = 0;
  int unavailable = 0;
  bool on_delete = false;
  int current = 0;  // nodes that have a pod, of those that should have one
  bool operator==(const DaemonSetFacts&) const = default;
};
DaemonSetFacts ProjectDaemonSet(const Json& daemon_set);

}  // namespace gantry::gpu_operator
