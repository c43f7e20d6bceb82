// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry::container {

// What a container runtime says of itself (runtime.v1.RuntimeService/Status).
struct CriStatus {
  bool ready = false;  // its condition RuntimeReady
  // Names of the runtime handlers. containerd before 2.0 names none; there they are those of the
  // configuration that it runs with, which it tells when asked for more.
  std::vector<std::string> handlers;
};

// Asks on the runtime's unix socket; blocks until the answer, at most `limit`. kNotFound or
// kUnavailable: nobody listens; kTimeout: no answer; kInternal: an answer that is no status.
Result<CriStatus> AskCriStatus(const std::string& socket_path, std::chrono::milliseconds limit);

// The protobuf message StatusResponse. Fields that are not needed are skipped.
Result<CriStatus> ParseCriStatus(std::string_view message);

}  // namespace gantry::container
