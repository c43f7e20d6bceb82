// SPDX-License-Identifier: Apache-2.0
// Which steps does a driver's replacement need on a node in use? The operator's own users of the
// driver are paused by label, pods with GPUs are evicted if this manager may, and nothing is
// unloaded before they have ended. Afterwards all are resumed, also after a failure.
#include "operands/driver/driver_manager/manager_plan.h"

#include <algorithm>

namespace gantry::driver {
std::string_view StepName(Step step) {
  switch (step) {
    case Step::kMarkPreInstalled:
      return "say that the host has a driver";
    case Step::kPause:
      return "pause the operands";
    case Step::kAwaitOperands:
      return "wait until the operands are gone";
    case Step::kCordon:
      return "cordon the node";
    case Step::kEvict:
      return "evict pods with GPUs";
    case Step::kUnload:
      return "unload the driver";
    case Step::kRemoveRoot:
      return "take the driver's root away";
    case Step::kUncordon:
      return "uncordon the node";
    case Step::kResume:
      return "let the operands go on";
    case Step::kUnloadNouveau:
      return "unload nouveau";
  }
  return "";
}

ManagerPlan PlanUninstall(const ManagerFacts& facts) {
  ManagerPlan plan;
  if (facts.host_driver) {
    plan.steps = {Step::kMarkPreInstalled};
    return plan;
  }
  const bool evict = facts.may_evict && !facts.operator_upgrades;
  const bool drain = facts.may_drain && !facts.operator_upgrades;
  const bool stays = facts.loaded && facts.same_digest && !facts.force_reinstall;
  auto& steps = plan.steps;
  if (facts.loaded) {
    steps.insert(steps.end(), {Step::kPause, Step::kAwaitOperands});
  }
  if (facts.loaded && !stays) {
    if (evict) {
      steps.insert(steps.end(), {Step::kCordon, Step::kEvict});
    }
    steps.push_back(Step::kUnload);
    plan.drain_if_stuck = drain;
  }
  steps.push_back(Step::kRemoveRoot);
  if (facts.nouveau) {
    steps.push_back(Step::kUnloadNouveau);
  }
  // Also if nothing was loaded: an earlier manager may have been killed halfway.
  steps.insert(steps.end(), {Step::kUncordon, Step::kResume});
  return plan;
}

std::vector<Step> TakeBack(const std::vector<Step>& done) {
  std::vector<Step> back;
  const auto has = [&](Step step) { return std::ranges::find(done, step) != done.end(); };
  // A drain before unloading has cordoned the node too.
  if (has(Step::kCordon) || has(Step::kUnload)) {
    back.push_back(Step::kUncordon);
  }
  if (has(Step::kPause)) {
    back.push_back(Step::kResume);
  }
  return back;
}

}  // namespace gantry::driver
