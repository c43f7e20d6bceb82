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

// Keys that want work. A key waits at most once, is worked on by at most one worker at a time
// (added meanwhile, it waits again once that worker is done), and comes back later and later while
// it fails. Thread-safe.
class WorkQueue {
 public:
  explicit WorkQueue(Backoff backoff = {}, const Clock& clock = RealClock());

  void Add(const std::string& key);
  // Not before `delay` from now; an earlier time that is already set stays.
  void AddAfter(const std::string& key, std::chrono::milliseconds delay);

  // The next key, which is the caller's until it reports Done or Failed. Blocks; nullopt when
  // stopped.
  std::optional<std::string> Take(const std::stop_token& stop);
  // As Take, but nullopt at once when no key is due.
  std::optional<std::string> TryTake();

  // The work succeeded: failures are forgotten.
  void Done(const std::string& key);
  // The work failed: the key comes back after RetryDelay (backoff.h), which is returned; nullopt
  // means that it waits for the next Add.
  std::optional<std::chrono::milliseconds> Failed(const std::string& key, ErrorKind kind);
  // Failures of this key in a row.
  [[nodiscard]] int Failures(const std::string& key) const;
  // Keys that wait or are due later (those being worked on are not counted).
  [[nodiscard]] size_t size() const;

 private:
  struct Entry {
    enum class Place { kIdle, kReady, kLater } place = Place::kIdle;
    SteadyTime due{};  // in kLater
    bool working = false;
    bool again = false;  // added while being worked on
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
