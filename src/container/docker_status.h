// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry::container {

// Docker's own report (Engine API, GET /info).
struct DockerStatus {
  std::vector<std::string> runtimes;
  pid_t pid = 0;  // of the daemon that answered; 0: unknown
};

// Calls on Docker's unix socket; blocks for at most `limit`. kNotFound or kUnavailable: no process
// listens, or the daemon returns an error; kTimeout: no response.
Result<DockerStatus> AskDocker(const std::string& socket_path, std::chrono::milliseconds limit);

// The entire response of HTTP/1.0, head and body.
Result<DockerStatus> ParseDockerInfo(std::string_view answer);

}  // namespace gantry::container
