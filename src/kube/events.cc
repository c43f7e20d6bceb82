// SPDX-License-Identifier: Apache-2.0
// Writes what event_series.cc decides, in a thread of its own: a reconcile never waits for an
// event, and a server that refuses events holds nothing up.
#include "kube/events.h"

#include "base/log.h"

namespace gantry::kube {
namespace {

constexpr std::chrono::seconds kLastWrites{2};

EventSeries::Failure FailureOf(ErrorKind kind, bool create) {
  switch (kind) {
    case ErrorKind::kUnavailable:
    case ErrorKind::kTimeout:
      return EventSeries::Failure::kUnreachable;
    case ErrorKind::kNotFound:
      // Of a create: its namespace is not there.
      return create ? EventSeries::Failure::kRefused : EventSeries::Failure::kGone;
    default:
      return EventSeries::Failure::kRefused;
  }
}

}  // namespace

EventRecorder::EventRecorder(Client& client, std::string component, std::string instance,
                             const Clock& clock)
    : client_(client), clock_(clock), series_(std::move(component), std::move(instance)) {}

EventRecorder::~EventRecorder() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
}

void EventRecorder::Normal(const Json& about, std::string_view reason, std::string_view message) {
  Record(about, EventType::kNormal, reason, message);
}

void EventRecorder::Warning(const Json& about, std::string_view reason, std::string_view message) {
  Record(about, EventType::kWarning, reason, message);
}

void EventRecorder::Record(const Json& about, EventType type, std::string_view reason,
                           std::string_view message) {
  {
    const std::scoped_lock lock(mutex_);
    series_.Observe(about, type, reason, message, clock_.Wall());
    ++observed_;
    if (!thread_.joinable()) {
      thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
    }
  }
  changed_.notify_one();
}

void EventRecorder::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const std::unique_ptr<Client> client = client_.Bounded(stop);
    WriteDue(*client, lock);
    const uint64_t seen = observed_;
    const auto more = [this, seen] { return observed_ != seen; };
    if (const auto wait = series_.Wait(clock_.Now())) {
      changed_.wait_for(lock, stop, *wait, more);
    } else {
      changed_.wait(lock, stop, more);
    }
  }
  // What was said last is often why the process ends, and a write that the stop cut off is due
  // again only after a pause.
  WriteDue(*client_.Bounded({}, kLastWrites), lock, EventSeries::kRepeatPause);
}

// Without the lock while a request is under way.
void EventRecorder::WriteDue(Client& client, std::unique_lock<std::mutex>& lock,
                             std::chrono::seconds early) {
  while (const std::optional<EventWrite> write = series_.Next(clock_.Now() + early)) {
    lock.unlock();
    const Result<Json> written =
        write->create
            ? client.Create(kinds::kEvent, write->body)
            : client.MergePatch(kinds::kEvent, {.ns = write->ns, .name = write->name}, write->body);
    lock.lock();
    if (written.has_value() || written.error().kind == ErrorKind::kConflict) {
      continue;
    }
    const EventSeries::Failure failure = FailureOf(written.error().kind, write->create);
    series_.Failed(write->series, failure);
    log::Debug("write event: {}", written.error().message);
    if (failure == EventSeries::Failure::kUnreachable) {
      return;
    }
  }
}

}  // namespace gantry::kube
