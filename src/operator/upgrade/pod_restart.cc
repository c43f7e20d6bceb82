// SPDX-License-Identifier: Apache-2.0

// Does the new driver run, and does it work? The old pod is deleted, its DaemonSet makes a new one,
// and the validator tells whether GPUs can be used. A node that takes too long has failed, and
// stays failed until a user acts.

#include "base/clock.h"
#include "base/text.h"
#include "operator/upgrade/decision.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {

std::string NotReadyYet(const DriverPod& driver, const std::string& broken, std::string_view what) {
  // A driver container that can't install keeps running, and only reports why.
  const std::string& trouble = driver.facts.trouble.empty() ? broken : driver.facts.trouble;
  return trouble.empty() ? format("{}, which is not ready yet", what)
                         : format("{}, which is not ready: {}", what, trouble);
}

std::string WhyNotJudged(const DriverPod& driver) {
  return driver.facts.daemon_set.empty() ? "no DaemonSet would bring it a new driver"
                                         : "the driver's DaemonSet was changed just now";
}

void Decision::Unblock() { Mark(node_, step_.change, names::kUpgradeSafeLoad, std::nullopt); }

bool Decision::Overdue(WallTime began, std::chrono::seconds limit, const std::string& reason) {
  const WallTime deadline = Deadline(began, limit);
  if (now_ >= deadline) {
    Forward(State::kFailed, format("{} after {} s", reason, limit.count()));
    return true;
  }
  Until(deadline);
  return false;
}

bool Decision::GivenUp(const DriverPod& driver) {
  if (driver.facts.given_up) {
    const std::string& trouble = driver.facts.trouble;
    Forward(State::kFailed, format("its new driver does not start: {}",
                                   trouble.empty() ? "more than 10 restarts" : trouble));
    return true;
  }
  return false;
}

bool Decision::IsOlder(const DriverPod& driver) const {
  return driver.facts.created < Rfc3339(Since());
}

bool Decision::EndsDriver(const DriverPod& driver) const {
  if (!record_.has_value() || record_->loaded.empty()) {
    return false;
  }
  const bool is_another = driver.facts.digest != record_->loaded && !driver.facts.ready;
  return is_another || (driver.outdated && !driver.same_driver);
}

void Decision::EmptyFirst() {
  EnterJobs("the driver was changed meanwhile, and would be replaced under workloads");
}

void Decision::RestartDriver() {
  const std::optional<DriverPod>& driver = node_.driver;
  const bool known = driver.has_value() && driver->judged && !driver->facts.deleting;
  if (known && EndsDriver(*driver)) {
    EmptyFirst();
    return;
  }
  std::string reason;
  bool goes = false;
  if (!driver.has_value()) {
    reason = "there is no new pod of the driver yet";
  } else if (driver->facts.deleting) {
    reason = "the old pod of the driver ends";
  } else if (!driver->judged) {
    reason = WhyNotJudged(*driver);
  } else if (driver->outdated) {
    goes = true;
    reason = "the old pod of the driver is deleted";
  } else if (driver->facts.ready) {
    Forward(State::kValidation, "its new driver is ready");
    Unblock();
    return;
  } else if (driver->facts.given_up && IsOlder(*driver)) {
    goes = true;
    reason = "the pod of the driver that did not start before is deleted";
  } else if (GivenUp(*driver)) {
    return;
  } else {
    reason = NotReadyYet(*driver, node_.broken, "it has a new pod of the driver");
  }
  if (Overdue(Since(), kRestartLimit, reason)) {
    return;
  }
  if (goes) {
    step_.change.restart = PodRef{driver->key, driver->facts.uid};
  } else if (known) {
    Unblock();
  }
  Wait(std::move(reason), State::kValidation);
}

void Decision::Validate() {
  const std::optional<DriverPod>& driver = node_.driver;
  bool ready = false;
  if (driver.has_value() && driver->judged && !driver->facts.deleting) {
    if (EndsDriver(*driver)) {
      EmptyFirst();
      return;
    }
    if (driver->outdated) {
      Forward(State::kPodRestart, "the driver's template was changed meanwhile");
      return;
    }
    if (GivenUp(*driver)) {
      return;
    }
    ready = driver->facts.ready;
  }
  if (ready && AwaitsPods()) {
    Unblock();
    Wait(node_.unseen, State::kUncordon);
    return;
  }
  const std::string missing = ready ? NotValidated() : "its new driver is no longer ready";
  if (missing.empty()) {
    if (IsMarked(node_.marks, names::kUpgradeWasCordoned)) {
      End(State::kDone, "its new driver works; it stays cordoned, as it was before");
    } else {
      Forward(State::kUncordon, "its new driver works");
    }
    return;
  }
  const WallTime since = MarkedTime(node_.marks, names::kUpgradeValidationSince).value_or(Since());
  if (!Overdue(since, kValidationLimit, missing)) {
    Unblock();
    Wait(missing, State::kUncordon);
  }
}

std::string Decision::NotValidated() const {
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

void Decision::StayFailed() {
  if (IsMarked(node_.marks, names::kUpgradeRequested)) {
    Forward(State::kRequired, format("requested by the annotation {}", names::kUpgradeRequested));
    return;
  }
  Wait(record_.has_value() && !record_->reason.empty() ? record_->reason : "it is not known why",
       State::kRequired);
  step_.status.next =
      format("correct the cause and remove the label {}", names::kDriverUpgradeState);
}

}  // namespace gantry::gpu_operator::upgrade
