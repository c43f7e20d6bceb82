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

// One write of an event to the API: a new object, or a merge patch of an existing one.
struct EventWrite {
  std::string series;  // its series; the argument of Failed
  std::string ns;      // namespace and name of the Event object
  std::string name;
  bool create = true;
  Json body;  // the object, or the patch
};

// Decides which events to write: folds repeats into a series, and bounds the number of series and
// the rate of writes. Not thread-safe; time is an argument.
class EventSeries {
 public:
  EventSeries(std::string component, std::string instance);

  void Observe(const Json& about, EventType type, std::string_view reason, std::string_view message,
               WallTime wall);
  // The next write; nullopt if nothing is to be written or the rate does not allow it yet.
  std::optional<EventWrite> Next(SteadyTime now);
  // How long until Next may return a write; nullopt if nothing is to be written.
  [[nodiscard]] std::optional<std::chrono::milliseconds> Wait(SteadyTime now) const;
  // The last write of a series failed, and is due again after the pause: as a new event if the old
  // one has expired (kGone), at most three times if the server refuses it (kRefused), without limit
  // while the server does not answer (kUnreachable).
  enum class Failure { kGone, kRefused, kUnreachable };
  void Failed(const std::string& series, Failure failure);

  static constexpr int kBurst = 25;
  static constexpr std::chrono::seconds kRefill{1};        // one more write per interval
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
    bool waiting = false;   // has an unwritten change
    bool exists = false;    // the event was created
    bool creating = false;  // by the last write
    std::string name;
    std::optional<SteadyTime> written;
    int refused = 0;
    uint64_t used = 0;  // order of last use, the oldest is evicted first
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
