// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "operands/container_runtime/container_root.h"
#include "operands/container_runtime/hook_arguments.h"

namespace gantry::container_runtime {

// Does the requested work inside the container's root file system. A failure that a container can
// start without (the library cache of an image with an unreadable one) is a line in `warnings`, not
// an error.
Status RunHook(const HookRequest& request, const ContainerRoot& root,
               std::vector<std::string>& warnings);

// The container's root as this process sees it, from the OCI state that the runtime writes to a
// hook's standard input.
Result<std::string> RootFromState(std::string_view state);

// The working folder, if it is surely the container's root: not the host's, and a library from the
// hook's arguments is mounted there. runc runs createContainer hooks in that folder, and writes the
// state to them when Go's scheduler gets to it, up to 13 ms after their start. A hook that needs no
// state does not wait; Go's os/exec accepts a reader that has ended. Nothing on kernels before 5.8,
// which do not show mounts.
std::optional<ContainerRoot> RootFromWorkingFolder(const HookRequest& request);

// nvidia-cdi-hook (`name`, for messages): reads the state from standard input, runs the hook, and
// reports errors on standard error. Exit status 0 or 1.
int RunCdiHook(const std::string& name, const std::vector<std::string>& words);

}  // namespace gantry::container_runtime
