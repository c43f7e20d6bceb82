// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace gantry::kubelet::dra {

// Serves gRPC calls with one request and one response on connections that the caller accepted. One
// thread, and one more for each call while it lasts, because a call may block.
class CallServer {
 public:
  // On the call's thread: the response's bytes for the request's. kUnsupported becomes
  // UNIMPLEMENTED, kInvalid INVALID_ARGUMENT, all else INTERNAL.
  using Answer =
      std::function<Result<std::string>(std::string_view method, const std::string& request)>;

  explicit CallServer(Answer answer);
  // Waits for the calls that are being answered, and ends every connection.
  ~CallServer();
  CallServer(const CallServer&) = delete;
  CallServer& operator=(const CallServer&) = delete;

  // Serves a connected socket, and owns it from now on.
  void Adopt(int connection);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gantry::kubelet::dra
