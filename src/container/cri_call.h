// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace gantry::container {

// One call of a method of the Container Runtime Interface (runtime.v1.RuntimeService) on the
// runtime's unix socket: from a protobuf message to the answer's. Blocks until then, at most
// `limit`. kNotFound or kUnavailable: nobody listens, or the answer is an error; kTimeout: no
// answer; kInternal: one of more than 4 MiB.
Result<std::string> CallCri(const std::string& socket_path, std::string_view method,
                            std::string_view request, std::chrono::milliseconds limit);

}  // namespace gantry::container
