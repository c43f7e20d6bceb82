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

// The main loop of a program that looks at its node and publishes what it sees: it looks, and again
// when a watched path changes, when another descriptor says so, on SIGHUP, and when a time has
// passed; after a failure sooner. It ends with SIGTERM.
class Loop {
 public:
  struct Options {
    // In front of a failure in the log. The same one is logged once.
    std::string failure;
    // Of failures that are merely a thing that is not there yet (kNotFound, kUnavailable).
    log::Level absence = log::Level::kWarning;
    // What happens within this time is looked at together.
    std::chrono::milliseconds settle{0};
    // Once what was published has been there for so long, or on SIGHUP, it is asked for again:
    // a deleted object sends no event, and a watch would cost every node a connection.
    std::chrono::seconds verify_after = std::chrono::hours(1);
  };
  // Another source of events: readable when something happened; `happened` reads it and says
  // whether that is a reason to look.
  struct Source {
    int fd = -1;  // below 0: there is none
    std::function<bool()> happened = [] { return true; };
  };

  // `signals` outlives it.
  Loop(Options options, host::Signals& signals, host::Watcher watcher)
      : options_(std::move(options)), signals_(signals), watcher_(std::move(watcher)) {}

  // `look` looks and publishes. `next`: when to look again if nothing happens, given how the look
  // went; after a failure that may pass by itself it comes sooner. 0 after SIGTERM; with `once`
  // there is one look, and 1 if that failed. Blocks.
  int Run(const std::function<Status()>& look,
          const std::function<SteadyTime(const Status& looked)>& next, const Source& source,
          const std::function<bool()>& once);

  [[nodiscard]] host::Watcher& watcher() { return watcher_; }
  [[nodiscard]] int stop_fd() const { return signals_.stop_fd(); }
  [[nodiscard]] std::chrono::seconds verify_after() const { return options_.verify_after; }

  // Whether what was published has to be asked for again.
  [[nodiscard]] bool VerifyIsDue() const;
  // It was found or written now.
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
