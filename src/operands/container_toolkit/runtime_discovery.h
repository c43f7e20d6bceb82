// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "host/processes.h"
#include "operands/container_toolkit/flags.h"

namespace gantry::container_toolkit {

// The container engine that runs a node's pods, as it runs now.
struct FoundRuntime {
  std::string engine;  // "containerd", "crio" or "docker"
  std::string socket;  // host path
  host::ProcessId process;
  std::vector<std::string> words;     // its command line
  std::string program;                // host path
  bool kubelet_uses_systemd = false;  // as its cgroup driver
  std::vector<std::string> remarks;
};

// By the socket that was given, else by the one that the kubelet uses, else by the engines' usual
// ones; the rest by the process that serves it. kUnavailable: nobody serves it now.
Result<FoundRuntime> FindRuntime(const Flags& flags);

}  // namespace gantry::container_toolkit
