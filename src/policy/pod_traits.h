// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"

namespace gantry::policy {

// What of a core/v1 Pod decides whether it holds a GPU and whether it may be taken off its node.
struct PodTraits {
  std::string daemon_set;  // that controls it; empty: none does
  bool managed = false;    // something controls it, and makes it anew
  bool mirror = false;     // of a file on the node: nobody can evict it
  bool finished = false;
  bool uses_gpus = false;  // a container asks for what the device plugin offers
  bool has_empty_dir = false;
};
PodTraits TraitsOf(const Json& pod);

// The name of the DaemonSet that controls an object; empty: none does.
std::string DaemonSetOf(const Json& object);

}  // namespace gantry::policy
