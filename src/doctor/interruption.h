// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>
#include <thread>

#include "base/paths.h"
#include "host/signals.h"

namespace gantry::doctor {

// While it lives, SIGINT, SIGTERM, SIGQUIT and SIGHUP request a stop instead of ending the process.
// Make it before other threads, which inherit the blocked signals. Its destructor waits for no
// signal.
class Interruption {
 public:
  Interruption();
  ~Interruption() = default;
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  [[nodiscard]] std::stop_token token() const { return asked_.get_token(); }

 private:
  void Wait(const std::stop_token& over);

  const host::Signals signals_;
  const Fd over_;
  std::stop_source asked_;
  std::jthread thread_;  // last, so that it ends first
};

}  // namespace gantry::doctor
