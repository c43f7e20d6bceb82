// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"

namespace gantry::policy {

// The properties of a core/v1 Pod that decide whether it holds a GPU and may be evicted.
struct PodTraits {
  std::string daemon_set;  // its controller; empty: none
  bool managed = false;    // it has a controller, which recreates it
  bool mirror = false;     // from a file on the node: cannot be evicted
  bool finished = false;
  bool uses_gpus = false;  // a container requests what the device plugin offers
  bool has_empty_dir = false;
};
PodTraits TraitsOf(const Json& pod);

// The name of the DaemonSet that controls an object; empty: none does.
std::string DaemonSetOf(const Json& object);

}  // namespace gantry::policy
