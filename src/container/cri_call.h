// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace gantry::container {

// One call of a gRPC method ("/v1.PodResourcesLister/List") on a unix socket: from a protobuf
// message to the answer's, of at most `most` bytes. Blocks until then, at most `limit`. kNotFound
// or kUnavailable: nobody listens, or the answer is an error; kTimeout: no answer; kInternal: a
// longer one.
Result<std::string> CallUnary(const std::string& socket_path, std::string_view method,
                              std::string_view request, std::chrono::milliseconds limit,
                              size_t most);

// The same of a method of the Container Runtime Interface (runtime.v1.RuntimeService) on the
// runtime's unix socket, and an answer of 4 MiB at most.
Result<std::string> CallCri(const std::string& socket_path, std::string_view method,
                            std::string_view request, std::chrono::milliseconds limit);

}  // namespace gantry::container
