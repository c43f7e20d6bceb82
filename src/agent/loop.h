// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "host/signals.h"
#include "host/watch.h"

namespace gantry::agent {

// The main loop of a program that inspects its node and publishes the result. It looks at the
// start, when a watched path changes, when another descriptor says so, on SIGHUP, and after some
// time, which is shorter after a failure. It ends with SIGTERM.
class Loop {
 public:
  struct Options {
    // The prefix of a failure in the log. The same failure is logged once.
    std::string failure;
    // The level for inputs that do not exist yet (kNotFound, kUnavailable).
    log::Level absence = log::Level::kWarning;
    // Events within this time cause one look.
    std::chrono::milliseconds settle{0};
    // After this time, or on SIGHUP, the published object is read again: its deletion sends no
    // event, and a watch would cost every node a connection.
    std::chrono::seconds verify_after = std::chrono::hours(1);
  };
  // Another source of events: readable after an event; `happened` reads it and returns whether it
  // is a reason to look.
  struct Source {
    int fd = -1;  // below 0: there is none
    std::function<bool()> happened = [] { return true; };
  };

  // `signals` must outlive the loop.
  Loop(Options options, host::Signals& signals, host::Watcher watcher)
      : options_(std::move(options)), signals_(signals), watcher_(std::move(watcher)) {}

  // `look` inspects and publishes. `next`: when to look again without an event, given the result;
  // sooner after a transient failure. Returns 0 after SIGTERM; with `once` it looks once, and
  // returns 1 if that failed. Blocks.
  int Run(const std::function<Status()>& look,
          const std::function<SteadyTime(const Status& looked)>& next, const Source& source,
          const std::function<bool()>& once);

  [[nodiscard]] host::Watcher& watcher() { return watcher_; }
  [[nodiscard]] int stop_fd() const { return signals_.stop_fd(); }
  [[nodiscard]] std::chrono::seconds verify_after() const { return options_.verify_after; }

  // Whether the published object is due to be read again.
  [[nodiscard]] bool VerifyIsDue() const;
  // It was read or written now.
  void Verified();

 private:
  void LogFailure(const Status& looked);
  [[nodiscard]] SteadyTime Retry(const Status& looked, SteadyTime next);
  bool Wait(SteadyTime deadline, const Source& source);

  const Options options_;
  host::Signals& signals_;
  host::Watcher watcher_;
  SteadyTime verify_at_{};
  std::string last_error_;
  int failures_ = 0;
};

}  // namespace gantry::agent
