// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kubelet/dra/dra.h"

namespace gantry::kubelet::dra {

// What a driver says of itself, and what it does when it is called.
struct DraCalls {
  std::string driver;    // "gpu.nvidia.com"
  std::string endpoint;  // the path of its service's socket
  ClaimHandler* handler = nullptr;
  // The kubelet has registered the driver, or the reason why not.
  std::function<void(Status)> on_registration;
};

// The response to a call of the kubelet, both as protobuf's bytes. `method` is its path:
// "/pluginregistration.Registration/GetInfo". kUnsupported: there is no such method; kInvalid: the
// request is no message. Blocks as the handler does.
Result<std::string> AnswerCall(const DraCalls& calls, std::string_view method,
                               const std::string& request);

}  // namespace gantry::kubelet::dra
