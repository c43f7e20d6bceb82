// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "operands/validator/verdict.h"

// The verdict on a node for the cluster: validated, or the first failure.
namespace gantry::validator {

struct NodeVerdict {
  bool ready = false;
  std::string reason;  // "ready", or the finding's: a value of the label nvidia.com/gpu.validation
  std::string message;
  bool operator==(const NodeVerdict&) const = default;
};

// The messages if there is nothing to do.
inline constexpr char kAllWorks[] = "driver, toolkit and GPUs work";
inline constexpr char kReadyForVms[] = "the GPUs are ready for virtual machines";

// From the stages' findings, in order. Nothing: some are still unknown, or a failure may be
// transient (its file is not removed yet), or waits for an unknown one. `all_works`: the message if
// there is nothing to do.
std::optional<NodeVerdict> Summarize(
    const std::vector<std::pair<std::string, const StageMemory*>>& stages,
    const char* all_works = kAllWorks);

struct AnnouncementMemory {
  std::optional<NodeVerdict> said;  // the reported verdict
  SteadyTime said_at{};
  std::optional<NodeVerdict> bad;  // not reported yet
  SteadyTime bad_since{};
  std::chrono::milliseconds pause{0};  // after a failed report
  SteadyTime failed_at{};
};

struct Announcement {
  std::optional<NodeVerdict> say;
  std::optional<SteadyTime> look_again;
};

// Reports success at once, and a failure when it is two seconds old: while a node starts, or while
// a file is replaced, there are transient reasons that need no action. A lasting failure is
// reported again every half hour, and when its message changes.
Announcement DecideAnnouncement(AnnouncementMemory& memory,
                                const std::optional<NodeVerdict>& verdict, SteadyTime now);
// The report of `verdict` has ended. A failed report is retried with growing delays.
void NoteAnnounced(AnnouncementMemory& memory, const NodeVerdict& verdict, bool told,
                   SteadyTime now);

}  // namespace gantry::validator
