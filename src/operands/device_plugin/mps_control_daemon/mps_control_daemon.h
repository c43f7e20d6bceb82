// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/error.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

struct MpsCommandLine {
  Flags flags;  // mps_root is the folder as seen here
  bool mount_shm = false;
};
// kInvalid: the message is CLI11's. --help and --version print and give no value.
Result<std::optional<MpsCommandLine>> ParseMpsCommandLine(int argc, const char* const* argv);

// The command mps-control-daemon: runs NVIDIA's MPS control daemon for the GPUs that this node's
// configuration shares by MPS, until SIGTERM; `mount-shm` mounts the memory shared with its
// clients, and ends. Returns the exit status.
int RunMpsControlDaemon(int argc, char** argv);

}  // namespace gantry::device_plugin
