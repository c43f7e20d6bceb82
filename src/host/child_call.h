// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "host/child.h"

namespace gantry::host {

// Calls a function in a forked child process and returns its string. A call that hangs can be
// abandoned, and what it loads (a driver's library, TLS) is freed with the child. For processes of
// one thread: a lock that another thread holds would stay locked in the child.
class ChildCall {
 public:
  // `what` is prepended to errors: "ask the driver".
  explicit ChildCall(std::string what) : what_(std::move(what)) {}
  ChildCall(const ChildCall&) = delete;
  ChildCall& operator=(const ChildCall&) = delete;
  ~ChildCall() = default;

  // What `call` returned. kTimeout: no result within `limit`, or `stop_fd` (below 0: none) became
  // readable, or an earlier child still hangs; kUnavailable: the child died. An error of `call` is
  // returned as it is. The child ends with its parent.
  Result<std::string> Run(const std::function<Result<std::string>()>& call,
                          std::chrono::milliseconds limit, int stop_fd);

 private:
  const std::string what_;
  std::optional<Child> child_;  // the last one
};

}  // namespace gantry::host
