// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "base/error.h"
#include "kube/backoff.h"

namespace gantry::kube {

// Keys to process. A key waits at most once and is in progress with at most one worker (added
// meanwhile, it waits again once that worker is done). A failing key is retried with growing
// delays. Thread-safe.
class WorkQueue {
 public:
  explicit WorkQueue(Backoff backoff = {}, const Clock& clock = RealClock());

  void Add(const std::string& key);
  // Not before `delay` from now; an earlier due time is kept.
  void AddAfter(const std::string& key, std::chrono::milliseconds delay);

  // The next key, in progress until the caller reports Done or Failed. Blocks; nullopt if stopped.
  std::optional<std::string> Take(const std::stop_token& stop);
  // As Take, but returns nullopt at once if no key is due.
  std::optional<std::string> TryTake();

  // The work succeeded: resets the count of failures.
  void Done(const std::string& key);
  // The work failed: the key is retried after RetryDelay (backoff.h), which is returned; nullopt:
  // it waits for the next Add.
  std::optional<std::chrono::milliseconds> Failed(const std::string& key, ErrorKind kind);
  // Failures of this key in a row.
  [[nodiscard]] int Failures(const std::string& key) const;
  // Keys that wait or are due later, without those in progress.
  [[nodiscard]] size_t size() const;

 private:
  struct Entry {
    enum class Place { kIdle, kReady, kLater } place = Place::kIdle;
    SteadyTime due{};  // in kLater
    bool working = false;
    bool again = false;  // added while in progress
    int failures = 0;
  };
  void AddLocked(const std::string& key);
  void AddAtLocked(const std::string& key, SteadyTime due);
  void LeaveLaterLocked(const std::string& key, Entry& entry);
  std::optional<std::string> TakeLocked();
  void ForgetIfIdleLocked(const std::string& key);

  const Backoff backoff_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::unordered_map<std::string, Entry> entries_;
  std::deque<std::string> ready_;
  std::multimap<SteadyTime, std::string> later_;
};

}  // namespace gantry::kube
