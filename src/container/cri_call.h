// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace gantry::container {

// One call of a gRPC method ("/v1.PodResourcesLister/List") on a unix socket: a protobuf message
// in, the response's message out, of at most `most` bytes. Blocks for at most `limit`. kNotFound or
// kUnavailable: no process listens, or it returned an error; kTimeout: no response; kInternal: a
// longer one.
Result<std::string> CallUnary(const std::string& socket_path, std::string_view method,
                              std::string_view request, std::chrono::milliseconds limit,
                              size_t most);

// The same for a method of the Container Runtime Interface (runtime.v1.RuntimeService) on the
// runtime's unix socket, with a response of at most 4 MiB.
Result<std::string> CallCri(const std::string& socket_path, std::string_view method,
                            std::string_view request, std::chrono::milliseconds limit);

}  // namespace gantry::container
