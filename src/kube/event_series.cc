// SPDX-License-Identifier: Apache-2.0
// Which events are written, and how often? An event is an object that thousands of watchers may
// read and that etcd keeps for an hour. A fault that repeats every second must stay one object with
// a count (core/v1 Event), updated now and then.
#include "kube/event_series.h"

#include <algorithm>

#include "base/text.h"
#include "kube/object.h"
#include "kube/shortened.h"

namespace gantry::kube {
namespace {

constexpr int kMaxRefusals = 3;
// Limits of the API's validation.
constexpr size_t kMaxMessage = 1024;
constexpr size_t kMaxNamePrefix = 200;

std::string_view NameOf(EventType type) {
  return type == EventType::kNormal ? "Normal" : "Warning";
}

Json AsReference(const Json& about) {
  return about.contains("metadata") ? ReferenceTo(about) : about;
}

std::string NamespaceOf(const Json& reference) { return TextAt(reference, "namespace", "default"); }

}  // namespace

EventSeries::EventSeries(std::string component, std::string instance)
    : component_(std::move(component)), instance_(std::move(instance)) {}

void EventSeries::Observe(const Json& about, EventType type, std::string_view reason,
                          std::string_view message, WallTime wall) {
  Json reference = AsReference(about);
  // An object recreated under the same name has another uid, and its own events.
  const std::string key =
      format("{}\n{}\n{}\n{}\n{}\n{}", TextAt(reference, "kind"), NamespaceOf(reference),
             TextAt(reference, "name"), TextAt(reference, "uid"), NameOf(type), reason);
  if (!series_.contains(key) && series_.size() >= kMaxSeries) {
    ForgetOldest();
  }
  Series& series = series_[key];
  if (series.count == 0) {
    series.type = type;
    series.reason = reason;
    series.first = wall;
  }
  series.about = std::move(reference);
  series.message = Shortened(message, kMaxMessage);
  series.last = wall;
  ++series.count;
  series.refused = 0;
  series.waiting = true;
  series.used = ++uses_;
}

void EventSeries::ForgetOldest() {
  const auto oldest = std::ranges::min_element(series_, {}, [](const auto& entry) {
    // Series that are already written are evicted before unwritten ones.
    return std::pair(entry.second.waiting, entry.second.used);
  });
  series_.erase(oldest);
}

SteadyTime EventSeries::DueAt(const Series& series) const {
  return series.written.has_value() ? *series.written + kRepeatPause : SteadyTime::min();
}

std::optional<std::chrono::milliseconds> EventSeries::Wait(SteadyTime now) const {
  std::optional<SteadyTime> due;
  for (const auto& [key, series] : series_) {
    if (series.waiting) {
      due = due.has_value() ? std::min(*due, DueAt(series)) : DueAt(series);
    }
  }
  if (!due.has_value()) {
    return std::nullopt;
  }
  SteadyTime when = std::max(*due, now);
  const double tokens = tokens_ + std::chrono::duration<double>(now - refilled_) / kRefill;
  if (tokens < 1) {
    when = std::max(
        when, now + std::chrono::duration_cast<std::chrono::nanoseconds>(kRefill * (1 - tokens)));
  }
  return std::chrono::ceil<std::chrono::milliseconds>(when - now);
}

std::optional<EventWrite> EventSeries::Next(SteadyTime now) {
  tokens_ =
      std::min<double>(kBurst, tokens_ + std::chrono::duration<double>(now - refilled_) / kRefill);
  refilled_ = now;
  if (tokens_ < 1) {
    return std::nullopt;
  }
  // The one that has waited longest.
  auto chosen = series_.end();
  for (auto entry = series_.begin(); entry != series_.end(); ++entry) {
    if (entry->second.waiting && DueAt(entry->second) <= now &&
        (chosen == series_.end() || entry->second.used < chosen->second.used)) {
      chosen = entry;
    }
  }
  if (chosen == series_.end()) {
    return std::nullopt;
  }
  tokens_ -= 1;
  Series& series = chosen->second;
  const bool create = !series.exists;
  if (create && series.name.empty()) {
    // As client-go names them: unique by the time of the first observation.
    series.name = format("{}.{:x}", Shortened(TextAt(series.about, "name"), kMaxNamePrefix),
                         static_cast<uint64_t>(series.first.time_since_epoch().count()) + ++uses_);
  }
  EventWrite write{.series = chosen->first,
                   .ns = NamespaceOf(series.about),
                   .name = series.name,
                   .create = create,
                   .body = create ? Body(series)
                                  : Json{{"count", series.count},
                                         {"message", series.message},
                                         {"lastTimestamp", Rfc3339(series.last)}}};
  series.waiting = false;
  series.exists = true;
  series.creating = create;
  series.written = now;
  return write;
}

Json EventSeries::Body(const Series& series) const {
  Json event = NewObject(kinds::kEvent, {.ns = NamespaceOf(series.about), .name = series.name});
  event["involvedObject"] = series.about;
  event["type"] = std::string(NameOf(series.type));
  event["reason"] = series.reason;
  event["message"] = series.message;
  event["count"] = series.count;
  event["firstTimestamp"] = Rfc3339(series.first);
  event["lastTimestamp"] = Rfc3339(series.last);
  event["source"] = {{"component", component_}};
  event["reportingComponent"] = component_;
  event["reportingInstance"] = instance_;
  return event;
}

void EventSeries::Failed(const std::string& key, Failure failure) {
  const auto found = series_.find(key);
  if (found == series_.end()) {
    return;
  }
  Series& series = found->second;
  if (failure == Failure::kGone) {
    series.exists = false;
    series.name.clear();
    series.first = series.last;
    series.count = 1;
    series.written.reset();
    series.waiting = true;
    return;
  }
  // A create may have succeeded although its response was lost: its name stays, so that the server
  // rejects the second one.
  series.exists = series.exists && !series.creating;
  series.waiting =
      failure == Failure::kUnreachable || ++series.refused < kMaxRefusals || series.waiting;
}

}  // namespace gantry::kube
