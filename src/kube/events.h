// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "kube/client.h"
#include "kube/event_series.h"

namespace gantry::kube {

// Writes Events (core/v1, which every kubectl shows). A repeat of the same object, type and reason
// updates the count and message of the existing event. Never blocks its caller: a thread, started
// by the first event, writes at most a burst of 25 and then one event a second. It ends with the
// recorder, which tries what is unwritten and within the rate once more, for two seconds each at
// most.
class EventRecorder {
 public:
  // `component` becomes source.component and reportingComponent, `instance` (a pod's or node's
  // name) reportingInstance. The client outlives the recorder.
  EventRecorder(Client& client, std::string component, std::string instance,
                const Clock& clock = RealClock());
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  // About an object as read from the API (apiVersion, kind, metadata), or a reference that
  // ReferenceTo made. The reason is one constant UpperCamelCase word.
  void Normal(const Json& about, std::string_view reason, std::string_view message);
  void Warning(const Json& about, std::string_view reason, std::string_view message);

 private:
  void Record(const Json& about, EventType type, std::string_view reason, std::string_view message);
  void Run(const std::stop_token& stop);
  // Writes until nothing is due, or due within `early`.
  void WriteDue(Client& client, std::unique_lock<std::mutex>& lock,
                std::chrono::seconds early = std::chrono::seconds(0));

  Client& client_;
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  EventSeries series_;
  uint64_t observed_ = 0;
  std::jthread thread_;
};

}  // namespace gantry::kube
