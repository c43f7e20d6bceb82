// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "operands/validator/verdict.h"

// What the cluster is told about a node: that it was checked and is whole, or the first thing that
// is not.
namespace gantry::validator {

struct NodeVerdict {
  bool ready = false;
  std::string reason;  // "ready", or the finding's: a value of the label nvidia.com/gpu.validation
  std::string message;
  bool operator==(const NodeVerdict&) const = default;
};

// The message where nothing is to be done.
inline constexpr char kAllWorks[] = "driver, toolkit and GPUs work";

// From what is known of the stages, in their order. Nothing: not all was seen yet, or what is seen
// to fail may still pass (its file has not been taken back), or waits for what was not seen yet.
std::optional<NodeVerdict> Summarize(
    const std::vector<std::pair<std::string, const StageMemory*>>& stages);

struct AnnouncementMemory {
  std::optional<NodeVerdict> said;  // what the cluster has been told
  SteadyTime said_at{};
  std::optional<NodeVerdict> bad;  // not told yet
  SteadyTime bad_since{};
  std::chrono::milliseconds pause{0};  // after a failure to tell
  SteadyTime failed_at{};
};

struct Announcement {
  std::optional<NodeVerdict> say;
  std::optional<SteadyTime> look_again;
};

// Good news at once; bad news when it is two seconds old: while a node starts, or while a file is
// exchanged, reasons pass by that nobody needs to act on. Bad news that stays is told again every
// half hour, and as soon as its sentence is another one.
Announcement DecideAnnouncement(AnnouncementMemory& memory,
                                const std::optional<NodeVerdict>& verdict, SteadyTime now);
// The attempt to tell `verdict` ended. What failed is tried again, at growing distances.
void NoteAnnounced(AnnouncementMemory& memory, const NodeVerdict& verdict, bool told,
                   SteadyTime now);

}  // namespace gantry::validator
