// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "host/processes.h"
#include "operands/container_toolkit/flags.h"

namespace gantry::container_toolkit {

// The running container engine of a node's pods.
struct FoundRuntime {
  std::string engine;  // "containerd", "crio" or "docker"
  std::string socket;  // host path
  host::ProcessId process;
  std::vector<std::string> words;     // its command line
  std::string program;                // host path
  bool kubelet_uses_systemd = false;  // as its cgroup driver
  std::vector<std::string> remarks;
};

// By the given socket, else by the kubelet's, else by the engines' default ones; the rest from the
// process that serves it. kUnavailable: no process serves it now.
Result<FoundRuntime> FindRuntime(const Flags& flags);

}  // namespace gantry::container_toolkit
