// SPDX-License-Identifier: Apache-2.0

// What is the next step of a node's driver upgrade? NVIDIA's states in NVIDIA's label, so that
// either operator can go on where the other one was. Everything that outlives this process stands
// on the Node, and each step is one patch of it: what cordons the node also says that we did, so
// that no node is left cordoned by nobody. A failed node stays so until somebody has looked at it.

#include "operator/upgrade/state.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

using std::chrono::seconds;

constexpr std::array kNames = std::to_array<std::string_view>(
    {"", "upgrade-done", "upgrade-required", "cordon-required", "wait-for-jobs-required",
     "pod-deletion-required", "drain-required", "pod-restart-required", "validation-required",
     "uncordon-required", "upgrade-failed"});

const std::string* MarkOf(const NodeInput& node, std::string_view key) {
  const auto found = node.marks.find(key);
  return found == node.marks.end() ? nullptr : &found->second;
}

bool IsMarked(const NodeInput& node, std::string_view key) {
  const std::string* mark = MarkOf(node, key);
  return mark != nullptr && *mark == "true";
}

bool WaitsForSafeLoad(const NodeInput& node) {
  const std::string* mark = MarkOf(node, names::kUpgradeSafeLoad);
  return mark != nullptr && !mark->empty();
}

long long UnixSeconds(WallTime time) {
  return std::chrono::floor<seconds>(time).time_since_epoch().count();
}

std::optional<WallTime> TimeOf(std::string_view unix_seconds) {
  constexpr long long kLatest = 1LL << 33U;
  const Result<long long> value = ParseInt(unix_seconds);
  if (!value.has_value() || *value < 0 || *value > kLatest) {
    return std::nullopt;
  }
  return WallTime(seconds(*value));
}

std::optional<WallTime> MarkedTime(const NodeInput& node, std::string_view key) {
  const std::string* mark = MarkOf(node, key);
  return mark == nullptr ? std::nullopt : TimeOf(*mark);
}

// Only if it makes a difference.
void Mark(const NodeInput& node, Change& change, const char* key,
          const std::optional<std::string>& value) {
  const std::string* now = MarkOf(node, key);
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

// The record of the state that the node is in, if it has one.
std::optional<Record> RecordOf(const NodeInput& node) {
  const std::string* mark = MarkOf(node, names::kUpgradeStep);
  if (mark == nullptr) {
    return std::nullopt;
  }
  std::optional<Record> record = ParseRecord(*mark);
  return record.has_value() && record->state == node.state ? record : std::nullopt;
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
  if (to == State::kDone) {
    EraseMarks(node, change);
    return change;
  }
  Mark(node, change, names::kUpgradeStep,
       FormatRecord({to, now, to == State::kFailed ? change.reason : ""}));
  if (to == State::kValidation) {
    Mark(node, change, names::kUpgradeValidationSince, std::to_string(UnixSeconds(now)));
  }
  return change;
}

// The same patch cordons and says who did.
void Cordon(const NodeInput& node, Change& change) {
  if (!node.cordoned) {
    change.cordon = Change::Cordon::kCordon;
    Mark(node, change, names::kUpgradeCordon, "true");
    Mark(node, change, names::kUpgradeWasCordoned, std::nullopt);
  } else if (!IsMarked(node, names::kUpgradeCordon)) {
    Mark(node, change, names::kUpgradeWasCordoned, "true");
  }
}

// Collects what is decided about one node.
class Decision {
 public:
  Decision(const NodeInput& node, const policy::UpgradePolicy& policy, WallTime now)
      : node_(node), policy_(policy), now_(now), record_(RecordOf(node)) {
    step_.change = Stay(node);
    step_.status.name = node.name;
    step_.status.state = node.state;
    if (record_.has_value()) {
      step_.status.since = record_->since;
    } else if (InProgress(node.state)) {
      // Written by hand, or by NVIDIA's operator: its time runs from now.
      Mark(node, step_.change, names::kUpgradeStep, FormatRecord({node.state, now, ""}));
    }
  }

  Step Decide() {
    switch (node_.state) {
      case State::kUnknown:
      case State::kDone:
        Rest();
        break;
      case State::kRequired:
        AwaitTurn();
        break;
      case State::kCordon:
        EnterJobs();
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

 private:
  void Forward(State to, std::string reason) {
    step_.status.reason = reason;
    step_.status.next = NameOf(to);
    step_.change = Go(node_, to, std::move(reason), now_);
  }

  void Wait(std::string reason, State next) {
    step_.status.reason = std::move(reason);
    step_.status.next = NameOf(next);
  }

  // Time alone ends it then.
  void Until(WallTime deadline) {
    step_.status.deadline = deadline;
    LookAgain(deadline);
  }

  void LookAgain(WallTime at) { step_.look_again = std::min(step_.look_again.value_or(at), at); }

  [[nodiscard]] WallTime Since() const { return record_.has_value() ? record_->since : now_; }

  // Why a node at rest needs an upgrade; empty: it does not.
  [[nodiscard]] std::string Wanted(const DriverPod& driver) const {
    if (driver.outdated) {
      return "its driver's pod is of an older template";
    }
    if (IsMarked(node_, names::kUpgradeRequested)) {
      return format("asked for by the annotation {}", names::kUpgradeRequested);
    }
    if (WaitsForSafeLoad(node_)) {
      return "its driver waits until the node is empty";
    }
    if (CordonedByUs(node_)) {
      return "an upgrade that did not end has left it cordoned";
    }
    return "";
  }

  void Rest() {
    if (!node_.driver.has_value() || !node_.driver->judged || node_.driver->facts.deleting) {
      return;
    }
    if (std::string why = Wanted(*node_.driver); !why.empty()) {
      Forward(State::kRequired, std::move(why));
    } else if (node_.state == State::kUnknown) {
      End(State::kDone, "its driver's pod is of the current template");
    }
  }

  void AwaitTurn() {
    if (!node_.driver.has_value()) {
      Wait("it has no pod of the driver", State::kCordon);
    } else if (node_.driver->facts.deleting) {
      Wait("its driver's pod is being deleted by somebody", State::kDone);
    } else if (!node_.driver->judged) {
      Wait("the driver's DaemonSet was changed just now", State::kCordon);
    } else if (Wanted(*node_.driver).empty() && !IsMarked(node_, names::kUpgradeWasCordoned)) {
      if (node_.driver->facts.ready) {
        End(State::kDone, "somebody else has updated its driver's pod");
      } else {
        Wait(NotReadyYet(*node_.driver, "somebody else has updated its driver's pod"),
             State::kDone);
      }
    } else if (node_.skip) {
      Wait(format("switched off for this node by the label {}", names::kDriverUpgradeSkip),
           State::kCordon);
    } else if (!node_.ready && !node_.cordoned) {
      Wait("the node is not Ready: nothing can be taken off it", State::kCordon);
    } else {
      Wait("waits for its turn", State::kCordon);
      step_.waits_for_turn = true;
    }
  }

  void EnterJobs() {
    Forward(State::kWaitForJobs, "it takes no new pods");
    Cordon(node_, step_.change);
    if (!policy_.jobs_selector.empty() && policy_.jobs_timeout.count() > 0) {
      Mark(node_, step_.change, names::kUpgradeJobsSince, std::to_string(UnixSeconds(now_)));
    }
  }

  void AwaitJobs() {
    if (policy_.jobs_selector.empty()) {
      Forward(State::kPodDeletion, "there are no jobs to wait for");
      return;
    }
    if (!node_.pods.has_value()) {
      Wait(node_.unseen, State::kPodDeletion);
      return;
    }
    const auto running =
        std::ranges::count_if(*node_.pods, [](const NamedPod& pod) { return !pod.facts.finished; });
    if (running == 0) {
      Forward(State::kPodDeletion, "its jobs have ended");
      return;
    }
    if (policy_.jobs_timeout.count() > 0) {
      const WallTime deadline =
          MarkedTime(node_, names::kUpgradeJobsSince).value_or(Since()) + policy_.jobs_timeout;
      if (now_ >= deadline) {
        Forward(State::kPodDeletion, format("{} jobs did not end in time", running));
        return;
      }
      Until(deadline);
    }
    Wait(format("{} pods that match waitForCompletion.podSelector run", running),
         State::kPodDeletion);
  }

  void DeletePods() {
    Empty(policy_.pod_deletion, "podDeletion",
          [](const PodFacts& pod) { return pod.uses_gpus && !pod.finished; });
  }

  void Drain() {
    if (!policy_.drain) {
      Forward(State::kPodRestart, "draining is switched off");
      return;
    }
    Empty(policy_.drain_spec, "drain", [](const PodFacts&) { return true; });
  }

  // Where the node goes that could not be emptied.
  void NotEmptied(std::string reason) {
    const bool last = node_.state == State::kDrain || !policy_.drain;
    Forward(last ? State::kFailed : State::kDrain, std::move(reason));
  }

  // Why a pod may not be evicted; empty: it may.
  static std::string Forbidden(const NamedPod& pod, const policy::EmptyingSpec& spec,
                               std::string_view field) {
    if (pod.facts.finished || pod.facts.deleting) {
      return "";
    }
    if (!pod.facts.managed && !spec.force) {
      return format("pod {} has no controller to make it anew, and {}.force is not set",
                    pod.key.Text(), field);
    }
    if (pod.facts.has_empty_dir && !spec.delete_empty_dir) {
      return format("pod {} would lose an emptyDir, and {}.deleteEmptyDir is not set",
                    pod.key.Text(), field);
    }
    return "";
  }

  template <typename Concerns>
  void Empty(const policy::EmptyingSpec& spec, std::string_view field, const Concerns& concerns) {
    if (!node_.pods.has_value()) {
      Wait(node_.unseen, State::kPodRestart);
      return;
    }
    std::vector<const NamedPod*> left;
    for (const NamedPod& pod : *node_.pods) {
      if (pod.facts.daemon_set.empty() && !pod.facts.mirror && concerns(pod.facts)) {
        left.push_back(&pod);
      }
    }
    if (left.empty()) {
      Forward(State::kPodRestart, "it is empty");
      return;
    }
    for (const NamedPod* pod : left) {
      if (std::string why = Forbidden(*pod, spec, field); !why.empty()) {
        NotEmptied(std::move(why));
        return;
      }
    }
    std::string what =
        format("{} pods are still there, the first is {}", left.size(), left.front()->key.Text());
    if (node_.eviction.has_value() && !node_.eviction->refused.empty()) {
      what += format(" ({})", node_.eviction->refused);
    }
    if (spec.timeout.count() > 0) {
      const WallTime deadline = Since() + spec.timeout;
      // A deadline that passed while nobody was here to act ends nothing before one more try.
      if (now_ >= deadline && node_.eviction.has_value()) {
        NotEmptied(format("not empty after {} s: {}", spec.timeout.count(), what));
        return;
      }
      Until(std::max(deadline, now_ + kEvictAgain));
      step_.status.deadline = deadline;
    }
    EvictAgain(left);
    Wait(std::move(what), State::kPodRestart);
  }

  void EvictAgain(const std::vector<const NamedPod*>& left) {
    std::vector<PodRef> still;
    for (const NamedPod* pod : left) {
      if (!pod->facts.deleting) {
        still.push_back({pod->key, pod->facts.uid});
      }
    }
    if (still.empty()) {
      return;
    }
    const WallTime due = node_.eviction.has_value() ? node_.eviction->at + kEvictAgain : now_;
    if (now_ >= due) {
      step_.change.evict = std::move(still);
      LookAgain(now_ + kEvictAgain);
    } else {
      LookAgain(due);
    }
  }

  static std::string NotReadyYet(const DriverPod& driver, std::string_view what) {
    const std::string& trouble = driver.facts.trouble;
    return trouble.empty() ? format("{}, which is not ready yet", what)
                           : format("{}, which is not ready: {}", what, trouble);
  }

  // A driver that waits for an empty node may load now.
  void Unblock() { Mark(node_, step_.change, names::kUpgradeSafeLoad, std::nullopt); }

  // The state's time is over: failed, for this reason.
  bool Overdue(WallTime deadline, seconds limit, const std::string& reason) {
    if (now_ >= deadline) {
      Forward(State::kFailed, format("{} after {} s", reason, limit.count()));
      return true;
    }
    Until(deadline);
    return false;
  }

  bool GivenUp(const DriverPod& driver) {
    if (driver.facts.given_up) {
      const std::string& trouble = driver.facts.trouble;
      Forward(State::kFailed, format("its new driver does not start: {}",
                                     trouble.empty() ? "more than 10 restarts" : trouble));
      return true;
    }
    return false;
  }

  void RestartDriver() {
    const std::optional<DriverPod>& driver = node_.driver;
    std::string reason;
    if (!driver.has_value()) {
      reason = "there is no new pod of the driver yet";
    } else if (driver->facts.deleting) {
      reason = "the old pod of the driver ends";
    } else if (!driver->judged) {
      reason = "the driver's DaemonSet was changed just now";
    } else if (driver->outdated) {
      reason = "the old pod of the driver is deleted";
    } else if (driver->facts.ready) {
      Forward(State::kValidation, "its new driver is ready");
      Unblock();
      return;
    } else if (GivenUp(*driver)) {
      return;
    } else {
      reason = NotReadyYet(*driver, "it has a new pod of the driver");
    }
    if (Overdue(Since() + kRestartLimit, kRestartLimit, reason)) {
      return;
    }
    if (driver.has_value() && driver->judged && !driver->facts.deleting) {
      if (driver->outdated) {
        step_.change.restart = PodRef{driver->key, driver->facts.uid};
      } else {
        Unblock();
      }
    }
    Wait(std::move(reason), State::kValidation);
  }

  void Validate() {
    const std::optional<DriverPod>& driver = node_.driver;
    bool ready = false;
    if (driver.has_value() && driver->judged && !driver->facts.deleting) {
      if (driver->outdated) {
        Forward(State::kPodRestart, "the driver's template was changed meanwhile");
        return;
      }
      if (GivenUp(*driver)) {
        return;
      }
      ready = driver->facts.ready;
    }
    const std::string missing = ready ? NotValidated() : "its new driver is not ready any more";
    if (missing.empty()) {
      if (IsMarked(node_, names::kUpgradeWasCordoned)) {
        End(State::kDone, "its new driver works; it stays cordoned, as it was before");
      } else {
        Forward(State::kUncordon, "its new driver works");
      }
      return;
    }
    const WallTime since = MarkedTime(node_, names::kUpgradeValidationSince).value_or(Since());
    if (!Overdue(since + kValidationLimit, kValidationLimit, missing)) {
      Unblock();
      Wait(missing, State::kUncordon);
    }
  }

  // What is missing until the node counts as validated; empty: nothing.
  [[nodiscard]] std::string NotValidated() const {
    if (!node_.pods.has_value()) {
      return node_.unseen;
    }
    if (node_.pods->empty()) {
      return "there is no pod of the validator";
    }
    for (const NamedPod& pod : *node_.pods) {
      if (!pod.facts.ready || pod.facts.deleting) {
        return pod.facts.trouble.empty()
                   ? "the validator is not ready"
                   : format("the validator is not ready: {}", pod.facts.trouble);
      }
    }
    return node_.broken.empty() ? "" : format("the validator finds: {}", node_.broken);
  }

  void End(State to, std::string reason) {
    Forward(to, std::move(reason));
    if (CordonedByUs(node_)) {
      step_.change.cordon = Change::Cordon::kUncordon;
    }
  }

  void StayFailed() {
    if (IsMarked(node_, names::kUpgradeRequested)) {
      Forward(State::kRequired, format("asked for by the annotation {}", names::kUpgradeRequested));
      return;
    }
    Wait(record_.has_value() && !record_->reason.empty() ? record_->reason : "it is not known why",
         State::kRequired);
    step_.status.next =
        format("correct the cause and remove the label {}", names::kDriverUpgradeState);
  }

  const NodeInput& node_;
  const policy::UpgradePolicy& policy_;
  const WallTime now_;
  const std::optional<Record> record_;
  Step step_;
};

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
  return Record{state, *since, std::string(Trim(rest))};
}

// Either by our mark, or because NVIDIA's operator was at work: by then it has cordoned every node
// of which it did not write that it was cordoned before.
bool CordonedByUs(const NodeInput& node) {
  const bool past = InProgress(node.state) && node.state != State::kCordon;
  return node.cordoned && !IsMarked(node, names::kUpgradeWasCordoned) &&
         (IsMarked(node, names::kUpgradeCordon) || past);
}

Step Advance(const NodeInput& node, const policy::UpgradePolicy& policy, WallTime now) {
  return Decision(node, policy, now).Decide();
}

Change Start(const NodeInput& node, WallTime now) {
  const bool requested = IsMarked(node, names::kUpgradeRequested);
  const bool restart_only = node.driver.has_value() && node.driver->outdated &&
                            node.driver->same_driver && !requested && !WaitsForSafeLoad(node);
  Change change = restart_only
                      ? Go(node, State::kPodRestart, "its restart leaves the driver loaded", now)
                      : Go(node, State::kCordon, "it is its turn", now);
  if (restart_only) {
    Cordon(node, change);
  }
  Mark(node, change, names::kUpgradeRequested, std::nullopt);
  return change;
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
    // Kubernetes leaves the field out where it is false.
    patch["spec"]["unschedulable"] = change.cordon == Change::Cordon::kCordon ? Json(true) : Json();
  }
  return patch;
}

std::optional<PodQuery> PodsFor(const NodeInput& node, const policy::UpgradePolicy& policy,
                                const std::string& space) {
  if (node.state == State::kValidation) {
    return PodQuery{.space = space, .labels = "app=nvidia-operator-validator"};
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
