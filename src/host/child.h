// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/clock.h"

namespace gantry::host {

// A process that this one has forked, until it is reaped. In an uninterruptible call into a driver
// it does not end even when it is killed, so every wait has a limit. One that outlives its Child is
// reaped when the next Child is made.
class Child {
 public:
  explicit Child(pid_t pid);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }

  // Blocks until it has ended; returns the status of waitpid(2). Nothing if the deadline passes or
  // `stop_fd` (below 0: none) is readable before.
  std::optional<int> AwaitEnd(SteadyTime deadline, int stop_fd = -1);

 private:
  const pid_t pid_;
  std::optional<int> status_;
};

}  // namespace gantry::host
