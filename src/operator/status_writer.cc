// SPDX-License-Identifier: Apache-2.0

// How are statuses written? As a patch of the difference; messages that change with every starting
// pod are written in groups.

#include "operator/status_writer.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"

namespace gantry::gpu_operator {
namespace {

// While a thousand pods start, the counts in the messages change with each.
constexpr std::chrono::seconds kMessageInterval(5);

Json StatusIn(const Json& object) {
  const Json* status = At(object, "status");
  return status == nullptr ? Json() : *status;
}

// The previous operator has recorded an event for the present status.
bool SaysAlready(const Json& status, const Verdict& verdict) {
  const Json* conditions = At(status, "conditions");
  return TextAt(status, "state") == verdict.state && conditions != nullptr &&
         std::ranges::any_of(*conditions, [&](const Json& condition) {
           return TextAt(condition, "reason") == verdict.reason;
         });
}

}  // namespace

StatusEdit StatusWriter::EditOf(const Json& object) const {
  return {StatusIn(object), IntAt(object, "metadata.generation", 0), clock_.Wall()};
}

Status StatusWriter::Write(const kube::Kind& kind, const Json& object, const Json& status) {
  const Json before = StatusIn(object);
  if (SameStatus(before, status)) {
    return {};
  }
  auto stored = client_.MergePatch(kind, kube::KeyOf(object),
                                   {{"status", StatusPatch(before, status)}}, kube::Part::kStatus);
  if (!stored.has_value()) {
    return stored.error().kind == ErrorKind::kNotFound
               ? Status{}
               : Status(std::unexpected(std::move(stored).error()));
  }
  ++writes_;
  return {};
}

Result<std::optional<std::chrono::milliseconds>> StatusWriter::WriteInGroups(const kube::Kind& kind,
                                                                             const Json& object,
                                                                             const Json& status) {
  const Json before = StatusIn(object);
  if (SameStatus(before, status)) {
    return std::nullopt;
  }
  const auto since =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Now() - written_in_groups_);
  if (SameButMessages(before, status) && since < kMessageInterval) {
    return kMessageInterval - since;
  }
  TRY(Write(kind, object, status));
  written_in_groups_ = clock_.Now();
  return std::nullopt;
}

void StatusWriter::RecordEvent(const Json& object, const Verdict& verdict, std::string& recorded) {
  const std::string now = verdict.state + " " + verdict.reason;
  const bool known = recorded.empty() ? SaysAlready(StatusIn(object), verdict) : recorded == now;
  recorded = now;
  if (known) {
    return;
  }
  log::Info("{} {}: {} ({}): {}", TextAt(object, "kind"), TextAt(object, "metadata.name"),
            verdict.state, verdict.reason, verdict.message);
  if (verdict.state == "ready") {
    events_.Normal(object, verdict.reason, verdict.message);
  } else {
    events_.Warning(object, verdict.reason, verdict.message);
  }
}

}  // namespace gantry::gpu_operator
