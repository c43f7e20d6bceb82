// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/signals.h"
#include "host/watch.h"
#include "operands/validator/announce.h"
#include "operands/validator/probe.h"
#include "operands/validator/stage.h"

namespace gantry::validator {

// Keeps the stages' status files up to date: one thread waits for files, children, timers and
// signals, and checks each stage again when its inputs change.
class Loop {
 public:
  // Without a watcher (its error says why) everything is checked every --sleep-interval-seconds.
  Loop(const Site& site, Result<host::Watcher> watcher);

  void Add(std::unique_ptr<Stage> stage);

  // Until SIGTERM, or until `changed_fd` (below 0: none) is readable: 0. 1 if the status directory
  // was removed: only a new container gets the new one.
  int Run(host::Signals& signals, int changed_fd = -1);
  // Until every stage was judged: 0 if all are ready or not needed, else 1; with `wait` only 0 or a
  // signal (1) ends it.
  int RunOnce(host::Signals& signals, bool wait);

 private:
  struct Slot {
    std::unique_ptr<Stage> stage;
    StageMemory memory;
    std::optional<Probe> probe;
    bool dirty = true;
    std::optional<SteadyTime> look_at;
    std::chrono::milliseconds pause{0};  // until a failed question is retried
  };

  void Watch(const WatchedPath& path);
  void WarnOfLooking() const;
  [[nodiscard]] bool FileThere(const Slot& slot) const;
  void Work();
  void LookAt(Slot& slot);
  void Ask(Slot& slot, const Question& question);
  void Hear(Slot& slot, const Answer& answer);
  void Settle(Slot& slot, const Finding& finding);
  void Tell(const Slot& slot, const Finding& finding, const Step& step) const;
  void LookSoon(Slot& slot, std::chrono::milliseconds pause);
  void RetryUnless(Slot& slot, bool well);
  void NoteCheck(const Slot& slot, const Finding& finding);
  void Announce();
  // True once `changed_fd` is readable.
  bool Wait(const host::Signals& signals, int changed_fd = -1);
  void TakeChanges();

  const Site& site_;
  Result<host::Watcher> watcher_;
  std::deque<Slot> slots_;
  std::map<std::string, std::vector<Slot*>> watched_;
  bool lost_directory_ = false;
  host::StatusValues checks_;  // of names::kLastChecks, as last written
  SteadyTime checks_at_{};
  AnnouncementMemory announcement_;
  std::optional<Probe> announcer_;  // the child that reports it
  NodeVerdict announcing_;
  std::optional<SteadyTime> announce_at_;
};

}  // namespace gantry::validator
