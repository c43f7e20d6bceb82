// SPDX-License-Identifier: Apache-2.0
// When does the validator report this node to the cluster, and what? Decided by the findings of the
// stages. While a cluster starts, every change costs requests on every node, so transient failures
// are not reported.
#include "operands/validator/announce.h"

#include <algorithm>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using State = Finding::State;

constexpr seconds kBadNewsAge(2);
constexpr seconds kFirstPause(1);
constexpr seconds kLongestPause(60);
constexpr seconds kSentenceAge(30);  // before another message of the same reason is reported
constexpr std::chrono::minutes kRepeat(30);  // the API server forgets an event after an hour

std::string Sentence(const std::string& stage, const Finding& finding) {
  return format("{}: {}{}{}", stage, finding.message, finding.remedy.empty() ? "" : "; ",
                finding.remedy);
}

}  // namespace

std::optional<NodeVerdict> Summarize(
    const std::vector<std::pair<std::string, const StageMemory*>>& stages, const char* all_works) {
  bool all_known = !stages.empty();
  std::string message = all_works;
  for (const auto& [name, memory] : stages) {
    if (!memory->last) {
      all_known = false;
      continue;
    }
    const Finding& last = *memory->last;
    if (last.state == State::kNotReady && !memory->file_there && !last.waits) {
      return NodeVerdict{.ready = false, .reason = last.reason, .message = Sentence(name, last)};
    }
    if (last.state == State::kReady && !last.remedy.empty()) {
      message += "; " + Sentence(name, last);
    }
    // An unknown state counts as last observed, if its file exists.
    all_known = all_known && (last.state == State::kReady || last.state == State::kSkipped ||
                              last.state == State::kNotNeeded ||
                              (last.state == State::kUnknown && memory->file_there));
  }
  if (!all_known) {
    return std::nullopt;
  }
  return NodeVerdict{
      .ready = true, .reason = names::kValidationReady, .message = std::move(message)};
}

Announcement DecideAnnouncement(AnnouncementMemory& memory,
                                const std::optional<NodeVerdict>& verdict, SteadyTime now) {
  const bool known = memory.said && memory.said == verdict;
  if (!verdict || (known && verdict->ready)) {
    memory.bad.reset();
    return {};
  }
  if (known && now < memory.said_at + kRepeat) {
    memory.bad.reset();
    return {.say = {}, .look_again = memory.said_at + kRepeat};
  }
  SteadyTime due = now;
  if (!verdict->ready) {
    if (!memory.bad || memory.bad->reason != verdict->reason) {
      memory.bad_since = now;
    }
    memory.bad = verdict;
    due = known ? now : memory.bad_since + kBadNewsAge;
    if (memory.said && memory.said->reason == verdict->reason) {
      due = std::max(due, memory.said_at + kSentenceAge);
    }
  } else {
    memory.bad.reset();
  }
  if (memory.pause.count() > 0) {
    due = std::max(due, memory.failed_at + memory.pause);
  }
  if (now < due) {
    return {.say = {}, .look_again = due};
  }
  return {.say = verdict, .look_again = {}};
}

void NoteAnnounced(AnnouncementMemory& memory, const NodeVerdict& verdict, bool told,
                   SteadyTime now) {
  if (told) {
    memory.said = verdict;
    memory.said_at = now;
    memory.bad.reset();
    memory.pause = milliseconds(0);
    return;
  }
  memory.failed_at = now;
  memory.pause = std::clamp<milliseconds>(memory.pause * 2, kFirstPause, kLongestPause);
}

}  // namespace gantry::validator
