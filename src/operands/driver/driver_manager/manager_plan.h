// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

// What does the driver manager do on a node, and in which order?
namespace gantry::driver {

struct ManagerFacts {
  bool host_driver = false;  // the host has its own working driver
  bool loaded = false;       // a driver's module is loaded
  bool same_digest = false;  // with the present settings
  bool force_reinstall = false;
  bool may_evict = false;  // pods with GPUs
  bool may_drain = false;
  bool nouveau = false;
  bool operator_upgrades = false;  // nvidia.com/gpu-driver-upgrade-enabled: it drains the node
};

enum class Step {
  kMarkPreInstalled,  // no driver container belongs on this node
  kPause,             // the operands' labels
  kAwaitOperands,     // until their pods are gone
  kCordon,
  kEvict,       // pods with GPUs; if that fails, drain if allowed
  kUnload,      // the kernel modules; likewise
  kRemoveRoot,  // the mount at /run/nvidia/driver, and the pid file
  kUncordon,    // if this manager cordoned
  kResume,      // the operands' labels
  kUnloadNouveau,
};
std::string_view StepName(Step step);

struct ManagerPlan {
  std::vector<Step> steps;
  bool drain_if_stuck = false;  // after a failed kEvict or kUnload: drain, and retry once
};
ManagerPlan PlanUninstall(const ManagerFacts& facts);

// The steps that roll back after a failed step, so that the node is not left paused.
std::vector<Step> TakeBack(const std::vector<Step>& done);

}  // namespace gantry::driver
