// SPDX-License-Identifier: Apache-2.0

// What is written on a Node about its driver's upgrade? NVIDIA's state in NVIDIA's label, and in
// annotations the facts that must outlive this process: since when, why, and who cordoned the node.

#include "operator/upgrade/annotations.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

using std::chrono::seconds;

// A field of a record, before its reason.
constexpr std::string_view kLoaded = "loaded=";

constexpr std::array kNames = std::to_array<std::string_view>(
    {"", "upgrade-done", "upgrade-required", "cordon-required", "wait-for-jobs-required",
     "pod-deletion-required", "drain-required", "pod-restart-required", "validation-required",
     "uncordon-required", "upgrade-failed"});

std::optional<WallTime> TimeOf(std::string_view unix_seconds) {
  constexpr long long kLatest = 1LL << 33U;
  const Result<long long> value = ParseInt(unix_seconds);
  if (!value.has_value() || *value < 0 || *value > kLatest) {
    return std::nullopt;
  }
  return WallTime(seconds(*value));
}

}  // namespace

std::string_view NameOf(State state) { return kNames.at(static_cast<size_t>(state)); }

State StateNamed(std::string_view label) {
  const auto found = std::ranges::find(kNames, label);
  return found == kNames.end() ? State::kUnknown : static_cast<State>(found - kNames.begin());
}

bool InProgress(State state) {
  return state != State::kUnknown && state != State::kDone && state != State::kRequired;
}

std::string FormatRecord(const Record& record) {
  std::string text = format("{} {}", NameOf(record.state), UnixSeconds(record.since));
  if (!record.loaded.empty()) {
    text += format(" {}{}", kLoaded, record.loaded);
  }
  if (!record.reason.empty()) {
    text += ' ';
    text += record.reason;
  }
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::optional<Record> ParseRecord(std::string_view annotation) {
  const size_t first = annotation.find(' ');
  if (first == std::string_view::npos) {
    return std::nullopt;
  }
  const State state = StateNamed(annotation.substr(0, first));
  std::string_view rest = annotation.substr(first + 1);
  const size_t second = std::min(rest.find(' '), rest.size());
  const std::optional<WallTime> since = TimeOf(rest.substr(0, second));
  if (state == State::kUnknown || !since.has_value()) {
    return std::nullopt;
  }
  rest.remove_prefix(second);
  rest = Trim(rest);
  Record record{state, *since};
  if (state != State::kFailed && rest.starts_with(kLoaded)) {
    rest.remove_prefix(kLoaded.size());
    const size_t end = std::min(rest.find(' '), rest.size());
    record.loaded = rest.substr(0, end);
    rest.remove_prefix(end);
  }
  record.reason = Trim(rest);
  return record;
}

const std::string* MarkOf(const Labels& marks, std::string_view key) {
  const auto found = marks.find(key);
  return found == marks.end() ? nullptr : &found->second;
}

bool IsMarked(const Labels& marks, std::string_view key) {
  const std::string* mark = MarkOf(marks, key);
  return mark != nullptr && *mark == "true";
}

bool WaitsForSafeLoad(const Labels& marks) {
  const std::string* mark = MarkOf(marks, names::kUpgradeSafeLoad);
  return mark != nullptr && !mark->empty();
}

long long UnixSeconds(WallTime time) {
  return std::chrono::floor<seconds>(time).time_since_epoch().count();
}

std::optional<WallTime> MarkedTime(const Labels& marks, std::string_view key) {
  const std::string* mark = MarkOf(marks, key);
  return mark == nullptr ? std::nullopt : TimeOf(*mark);
}

}  // namespace gantry::gpu_operator::upgrade
