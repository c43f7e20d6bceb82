// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry::container {

// The status that a container runtime reports (runtime.v1.RuntimeService/Status).
struct CriStatus {
  bool ready = false;  // its condition RuntimeReady
  // Names of the runtime handlers. containerd before 2.0 does not list them; then they come from
  // its running configuration, which the verbose status contains.
  std::vector<std::string> handlers;
};

// Calls on the runtime's unix socket; blocks for at most `limit`. kNotFound or kUnavailable: no
// process listens; kTimeout: no response; kInternal: a response that is not a status.
Result<CriStatus> AskCriStatus(const std::string& socket_path, std::chrono::milliseconds limit);

// The protobuf message StatusResponse. Fields that are not needed are skipped.
Result<CriStatus> ParseCriStatus(std::string_view message);

}  // namespace gantry::container
