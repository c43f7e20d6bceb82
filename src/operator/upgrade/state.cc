// SPDX-License-Identifier: Apache-2.0

// What is the next step of a node's driver upgrade? NVIDIA's states in NVIDIA's label, so that
// either operator can continue the other's upgrade. Everything that outlives this process is on the
// Node, and each step is one patch of it: the patch that cordons the node also records who did, so
// that no cordon is left without an owner. A failed node stays failed until a user acts.

#include "operator/upgrade/state.h"

#include <algorithm>

#include "base/text.h"
#include "operator/upgrade/decision.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

// The record of the node's present state, if it has one.
std::optional<Record> RecordOf(const NodeInput& node) {
  const std::string* mark = MarkOf(node.marks, names::kUpgradeStep);
  if (mark == nullptr) {
    return std::nullopt;
  }
  std::optional<Record> record = ParseRecord(*mark);
  return record.has_value() && record->state == node.state ? record : std::nullopt;
}

// Whether NVIDIA's operator, or a user, set the node's state: this operator writes a record with
// each state.
bool IsFromOthers(const NodeInput& node) {
  return (InProgress(node.state) || node.state == State::kRequired) && !RecordOf(node).has_value();
}

}  // namespace

void Mark(const NodeInput& node, Change& change, const char* key,
          const std::optional<std::string>& value) {
  const std::string* now = MarkOf(node.marks, key);
  if (now == nullptr ? value.has_value() : value != *now) {
    change.annotations[key] = value;
  }
}

void EraseMarks(const NodeInput& node, Change& change) {
  for (const char* key : {names::kUpgradeStep, names::kUpgradeCordon, names::kUpgradeWasCordoned,
                          names::kUpgradeJobsSince, names::kUpgradeValidationSince}) {
    Mark(node, change, key, std::nullopt);
  }
}

Change Stay(const NodeInput& node) {
  Change change;
  change.node = node.name;
  change.from = node.state;
  change.to = node.state;
  return change;
}

Change Go(const NodeInput& node, State to, std::string reason, WallTime now) {
  Change change = Stay(node);
  change.to = to;
  change.reason = std::move(reason);
  Mark(node, change, names::kUpgradeJobsSince, std::nullopt);
  Mark(node, change, names::kUpgradeValidationSince, std::nullopt);
  if (to == State::kDone || to == State::kUnknown) {
    EraseMarks(node, change);
    return change;
  }
  Record record{to, now};
  if (to == State::kFailed) {
    record.reason = change.reason;
  } else if (to == State::kPodRestart || to == State::kValidation) {
    const std::optional<Record> before = RecordOf(node);
    record.loaded = before.has_value() ? before->loaded : "";
  }
  Mark(node, change, names::kUpgradeStep, FormatRecord(record));
  if (to == State::kValidation) {
    Mark(node, change, names::kUpgradeValidationSince, std::to_string(UnixSeconds(now)));
  }
  return change;
}

void Cordon(const NodeInput& node, Change& change) {
  if (!node.cordoned) {
    change.cordon = Change::Cordon::kCordon;
    Mark(node, change, names::kUpgradeCordon, "true");
    Mark(node, change, names::kUpgradeWasCordoned, std::nullopt);
  } else if (!IsMarked(node.marks, names::kUpgradeCordon)) {
    Mark(node, change, names::kUpgradeWasCordoned, "true");
  }
}

Decision::Decision(const NodeInput& node, const policy::UpgradePolicy& policy, WallTime now)
    : node_(node), policy_(policy), now_(now), record_(RecordOf(node)) {
  step_.change = Stay(node);
  step_.status.name = node.name;
  step_.status.state = node.state;
  if (record_.has_value()) {
    step_.status.since = record_->since;
  }
}

Step Decision::Decide() {
  if (!node_.driver.has_value() && !node_.wanted && node_.state != State::kDone) {
    End(State::kUnknown, "it should no longer have a driver");
    return std::move(step_);
  }
  switch (node_.state) {
    case State::kUnknown:
    case State::kDone:
      Rest();
      break;
    case State::kRequired:
      AwaitTurn();
      break;
    case State::kCordon:
      EnterJobs("it takes no new pods");
      break;
    case State::kWaitForJobs:
      AwaitJobs();
      break;
    case State::kPodDeletion:
      DeletePods();
      break;
    case State::kDrain:
      Drain();
      break;
    case State::kPodRestart:
      RestartDriver();
      break;
    case State::kValidation:
      Validate();
      break;
    case State::kUncordon:
      End(State::kDone, "its new driver works");
      break;
    case State::kFailed:
      StayFailed();
      break;
  }
  return std::move(step_);
}

void Decision::Forward(State to, std::string reason) {
  step_.status.reason = reason;
  step_.status.next = NameOf(to);
  step_.change = Go(node_, to, std::move(reason), now_);
}

void Decision::Wait(std::string reason, State next) {
  step_.status.reason = std::move(reason);
  step_.status.next = NameOf(next);
}

WallTime Decision::Deadline(WallTime began, std::chrono::seconds limit) const {
  return DeadlineOf(began, limit, node_.seen_since);
}

void Decision::Until(WallTime deadline) {
  step_.status.deadline = deadline;
  RequeueAt(deadline);
}

void Decision::RequeueAt(WallTime at) {
  step_.requeue_at = std::min(step_.requeue_at.value_or(at), at);
}

WallTime Decision::Since() const { return record_.has_value() ? record_->since : now_; }

void Decision::End(State to, std::string reason) {
  Forward(to, std::move(reason));
  if (CordonedByUs(node_)) {
    step_.change.cordon = Change::Cordon::kUncordon;
  }
}

// Either by this operator's mark, or by NVIDIA's operator: before that cordons a node, it records
// whether the node was cordoned already. A node with only a requested upgrade was not cordoned.
bool CordonedByUs(const NodeInput& node) {
  const bool past = InProgress(node.state) && node.state != State::kCordon;
  return node.cordoned && !IsMarked(node.marks, names::kUpgradeWasCordoned) &&
         (IsMarked(node.marks, names::kUpgradeCordon) || past ||
          (IsFromOthers(node) && node.state != State::kRequired));
}

Labels MarksToAdopt(const NodeInput& node, WallTime now) {
  Labels marks;
  if (IsFromOthers(node)) {
    marks[names::kUpgradeStep] = FormatRecord({node.state, now});  // its time runs from now
    if (CordonedByUs(node) && !IsMarked(node.marks, names::kUpgradeCordon)) {
      marks[names::kUpgradeCordon] = "true";
    }
  }
  return marks;
}

NodeInput With(NodeInput node, const Labels& marks) {
  for (const auto& [key, value] : marks) {
    node.marks[key] = value;
  }
  return node;
}

void AddTo(Change& change, const Labels& marks) {
  for (const auto& [key, value] : marks) {
    change.annotations.try_emplace(key, value);
  }
}

Step Advance(const NodeInput& node, const policy::UpgradePolicy& policy, WallTime now) {
  const Labels adopted = MarksToAdopt(node, now);
  if (adopted.empty()) {
    return Decision(node, policy, now).Decide();
  }
  Step step = Decision(With(node, adopted), policy, now).Decide();
  AddTo(step.change, adopted);
  return step;
}

Change Abandon(const NodeInput& node) {
  Change change = Stay(node);
  change.to = State::kUnknown;
  EraseMarks(node, change);
  Mark(node, change, names::kUpgradeEnabled, std::nullopt);
  if (CordonedByUs(node)) {
    change.cordon = Change::Cordon::kUncordon;
  }
  change.reason = change.marks_node() ? "upgrades are switched off" : "";
  return change;
}

Json PatchOf(const Change& change) {
  Json patch = {{"metadata", Json::object()}};
  if (change.from != change.to) {
    const std::string_view name = NameOf(change.to);
    patch["metadata"]["labels"][names::kDriverUpgradeState] = name.empty() ? Json() : Json(name);
  }
  for (const auto& [key, value] : change.annotations) {
    patch["metadata"]["annotations"][key] = value.has_value() ? Json(*value) : Json();
  }
  if (change.cordon != Change::Cordon::kLeave) {
    // Kubernetes omits the field if it is false.
    patch["spec"]["unschedulable"] = change.cordon == Change::Cordon::kCordon ? Json(true) : Json();
  }
  return patch;
}

PodQuery ValidatorPods(const std::string& ns) {
  return {.ns = ns, .labels = "app=nvidia-operator-validator"};
}

std::optional<PodQuery> PodsFor(const NodeInput& node, const policy::UpgradePolicy& policy,
                                const std::string& ns) {
  if (node.state == State::kValidation) {
    return ValidatorPods(ns);
  }
  if (node.state == State::kWaitForJobs && !policy.jobs_selector.empty()) {
    return PodQuery{.labels = policy.jobs_selector};
  }
  if (node.state == State::kPodDeletion) {
    return PodQuery{.node = node.name};
  }
  if (node.state == State::kDrain && policy.drain) {
    const std::string separator = policy.drain_selector.empty() ? "" : ",";
    return PodQuery{
        .labels = format("{}{}{}!=true", policy.drain_selector, separator, names::kDrainSkip),
        .node = node.name};
  }
  return std::nullopt;
}

}  // namespace gantry::gpu_operator::upgrade
