// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry::container {

// What Docker says of itself (Engine API, GET /info).
struct DockerStatus {
  std::vector<std::string> runtimes;
  pid_t pid = 0;  // of the daemon that answered; 0: unknown
};

// Asks on Docker's unix socket; blocks until the answer, at most `limit`. kNotFound or
// kUnavailable: nobody listens, or the daemon answers with an error; kTimeout: no answer.
Result<DockerStatus> AskDocker(const std::string& socket_path, std::chrono::milliseconds limit);

// The whole answer of HTTP/1.0, head and body.
Result<DockerStatus> ParseDockerInfo(std::string_view answer);

}  // namespace gantry::container
