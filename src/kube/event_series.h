// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"

namespace gantry::kube {

enum class EventType { kNormal, kWarning };

// One write of an event to the API: a new object, or a merge patch of one that is there.
struct EventWrite {
  std::string series;  // which series it belongs to; given back to Failed
  std::string ns;      // namespace and name of the Event object
  std::string name;
  bool create = true;
  Json body;  // the object, or the patch
};

// Decides which event writes follow from which observations: folds repeats into a series, bounds
// how many series are kept, and how many writes there may be. Not thread-safe; time is an argument.
class EventSeries {
 public:
  EventSeries(std::string component, std::string instance);

  void Observe(const Json& about, EventType type, std::string_view reason, std::string_view message,
               WallTime wall);
  // The next write, or nullopt when nothing is to be written or the rate does not allow it yet.
  std::optional<EventWrite> Next(SteadyTime now);
  // How long until Next may give a write; nullopt when nothing is to be written.
  [[nodiscard]] std::optional<std::chrono::milliseconds> Wait(SteadyTime now) const;
  // The last write of a series did not succeed, and is due again after the pause: as a new event
  // when the old one has expired (kGone); three times at most when the server does not want it
  // (kRefused); for ever while nobody answers (kUnreachable).
  enum class Failure { kGone, kRefused, kUnreachable };
  void Failed(const std::string& series, Failure failure);

  static constexpr int kBurst = 25;
  static constexpr std::chrono::seconds kRefill{1};        // one write more every so often
  static constexpr std::chrono::seconds kRepeatPause{10};  // between two writes of one series
  static constexpr size_t kMaxSeries = 256;

 private:
  struct Series {
    Json about;
    EventType type = EventType::kNormal;
    std::string reason;
    std::string message;
    WallTime first{};
    WallTime last{};
    int count = 0;
    bool waiting = false;   // something is unwritten
    bool exists = false;    // the event was created
    bool creating = false;  // by the last write
    std::string name;
    std::optional<SteadyTime> written;
    int refused = 0;
    uint64_t used = 0;  // order of last use, the oldest is forgotten first
  };
  [[nodiscard]] SteadyTime DueAt(const Series& series) const;
  Json Body(const Series& series) const;
  void ForgetOldest();

  const std::string component_;
  const std::string instance_;
  std::map<std::string, Series> series_;
  uint64_t uses_ = 0;
  double tokens_ = kBurst;
  SteadyTime refilled_{};
};

}  // namespace gantry::kube
