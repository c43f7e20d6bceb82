// SPDX-License-Identifier: Apache-2.0
// Is it a repair, or a conflict with another writer?
#include "operands/container_toolkit/repair_pace.h"

#include <algorithm>

namespace gantry::container_toolkit {

std::optional<std::chrono::seconds> RetryAfter(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
    case ErrorKind::kUnsupported:
      return std::nullopt;
    case ErrorKind::kTimeout:  // under load; or a slow engine that the attempt restarted
    case ErrorKind::kDenied:
      return std::chrono::seconds(60);
    case ErrorKind::kNotFound:
    case ErrorKind::kConflict:
    case ErrorKind::kUnavailable:
    case ErrorKind::kInternal:
      break;
  }
  return std::chrono::seconds(5);
}

void RepairPace::Note(Count& count, SteadyTime now) {
  if (count.times == 0 || now - count.since >= kWindow) {
    count = {.times = 0, .since = now};
  }
  ++count.times;
}

void RepairPace::Wrote(const std::vector<std::string>& paths, SteadyTime now) {
  std::erase_if(writes_, [now](const auto& write) { return now - write.second.since >= kWindow; });
  for (const std::string& path : paths) {
    Note(writes_[path], now);
  }
}

void RepairPace::Restarted(SteadyTime now) { Note(restarts_, now); }

SteadyTime RepairPace::NextAt(SteadyTime now) const {
  SteadyTime next = now;
  for (const auto& [path, count] : writes_) {
    if (count.times > kWrites) {
      next = std::max(next, count.since + kWindow);
    }
  }
  if (restarts_.times > kRestarts) {
    next = std::max(next, restarts_.since + kWindow);
  }
  return next;
}

}  // namespace gantry::container_toolkit
