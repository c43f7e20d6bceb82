// SPDX-License-Identifier: Apache-2.0

// Does a node need an upgrade, and can it start? roll_out.cc decides whether the budget allows it.

#include "base/text.h"
#include "operator/upgrade/decision.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {

std::string Decision::Wanted(const DriverPod& driver) const {
  if (driver.outdated) {
    return "its driver's pod is of an older template";
  }
  if (IsMarked(node_.marks, names::kUpgradeRequested)) {
    return format("requested by the annotation {}", names::kUpgradeRequested);
  }
  if (WaitsForSafeLoad(node_.marks)) {
    return "its driver waits until the node is empty";
  }
  // Its pod was replaced by another writer, and the driver manager evicts no pods if the operator
  // does.
  if (node_.wanted && driver.facts.init_fails && !driver.facts.ready) {
    return format("its driver's pod finds no room: {}", driver.facts.trouble);
  }
  if (CordonedByUs(node_) || IsMarked(node_.marks, names::kUpgradeWasCordoned)) {
    return "an upgrade has begun and did not end";
  }
  return "";
}

void Decision::Rest() {
  if (!node_.driver.has_value() || !node_.driver->judged || node_.driver->facts.deleting) {
    return;
  }
  if (std::string why = Wanted(*node_.driver); !why.empty()) {
    Forward(State::kRequired, std::move(why));
  } else if (node_.state == State::kUnknown) {
    End(State::kDone, "its driver's pod is of the current template");
  }
}

void Decision::AwaitTurn() {
  if (!node_.driver.has_value()) {
    Wait("it has no pod of the driver", State::kCordon);
  } else if (node_.driver->facts.deleting) {
    Wait("its driver's pod is being deleted by another client", State::kDone);
  } else if (!node_.driver->judged) {
    Wait(WhyNotJudged(*node_.driver), State::kCordon);
  } else if (Wanted(*node_.driver).empty()) {
    if (node_.driver->facts.ready) {
      End(State::kDone, "another client has updated its driver's pod");
    } else {
      Wait(NotReadyYet(*node_.driver, node_.broken, "another client has updated its driver's pod"),
           State::kDone);
    }
  } else if (node_.skip) {
    Wait(format("disabled for this node by the label {}", names::kDriverUpgradeSkip),
         State::kCordon);
  } else if (!node_.ready) {
    Wait("the node is not Ready: it cannot be drained", State::kCordon);
  } else {
    Wait("waits for its turn", State::kCordon);
    step_.waits_for_turn = true;
  }
}

Change Start(const NodeInput& asked, WallTime now) {
  const Labels adopted = MarksToAdopt(asked, now);
  const NodeInput node = With(asked, adopted);
  const bool requested = IsMarked(node.marks, names::kUpgradeRequested);
  const bool restart_only = node.driver.has_value() && node.driver->outdated &&
                            node.driver->same_driver && !requested && !WaitsForSafeLoad(node.marks);
  Change change = restart_only
                      ? Go(node, State::kPodRestart, "its restart leaves the driver loaded", now)
                      : Go(node, State::kCordon, "it is its turn", now);
  if (restart_only) {
    Cordon(node, change);
    Mark(node, change, names::kUpgradeStep,
         FormatRecord({State::kPodRestart, now, "", node.driver->facts.digest}));
  }
  Mark(node, change, names::kUpgradeRequested, std::nullopt);
  AddTo(change, adopted);
  return change;
}

}  // namespace gantry::gpu_operator::upgrade
