// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/object.h"

// What does the driver manager do on a node, and in which order?
namespace gantry::driver {

using Labels = std::map<std::string, std::string>;

// --- the operands' deploy labels ---------------------------------------------------------------

// "true" -> names::kDeployPaused; another value keeps itself in front of the mark; "false",
// "" and what is paused stay as they are.
std::string PausedValue(std::string_view value);
// The reverse.
std::string ResumedValue(std::string_view value);

// The labels that change when the operands that use the driver are paused or go on: those of the
// node that are among NVIDIA's pausable ones, and `own_label`.
Labels PausedLabels(const Labels& node, std::string_view own_label);
Labels ResumedLabels(const Labels& node, std::string_view own_label);

// --- steps -------------------------------------------------------------------------------------

struct ManagerFacts {
  bool host_driver = false;  // the host has a driver of its own, and it works
  bool loaded = false;       // a driver's module is loaded
  bool same_digest = false;  // with the settings of now
  bool force_reinstall = false;
  bool may_evict = false;  // pods with GPUs
  bool may_drain = false;
  bool nouveau = false;
  bool operator_upgrades = false;  // nvidia.com/gpu-driver-upgrade-enabled: it empties the node
};

enum class Step {
  kMarkPreInstalled,  // no driver container belongs on this node
  kPause,             // the operands' labels
  kAwaitOperands,     // until their pods are gone
  kCordon,
  kEvict,       // pods with GPUs; if that fails and kDrain may be tried, it is
  kUnload,      // the kernel modules; the same
  kRemoveRoot,  // what is mounted at /run/nvidia/driver, and the pid file
  kUncordon,    // if this manager cordoned
  kResume,      // the operands' labels
  kUnloadNouveau,
};
std::string_view StepName(Step step);

struct ManagerPlan {
  std::vector<Step> steps;
  bool drain_if_stuck = false;  // after kEvict or kUnload failed: drain, and try once more
};
ManagerPlan PlanUninstall(const ManagerFacts& facts);

// After a failed step: what is taken back, so that the node is not left paused.
std::vector<Step> TakeBack(const std::vector<Step>& done);

// --- pods --------------------------------------------------------------------------------------

struct NodePod {
  kube::Key key;
  std::string uid;
  std::string app;  // label `app`
  bool of_daemon_set = false;
  bool managed = false;  // by any controller
  bool mirror = false;   // of a file on the node
  bool finished = false;
  bool uses_gpus = false;
  bool has_empty_dir = false;
  bool gpu_client = false;  // its node selector has nvidia.com/gpu.deploy.client
};
NodePod ProjectNodePod(const Json& pod);

// Those of a paused operand, or of a DaemonSet of GPU clients: they must be gone before the driver.
bool MustBeGone(const NodePod& pod, std::string_view space);

// Those that an eviction is about: with GPUs only, or all (a drain). DaemonSets' and mirror pods
// are never, finished ones neither.
bool IsEvicted(const NodePod& pod, bool only_gpus);

// Why a pod may not be evicted; nothing: it may. Names the setting that allows it.
std::optional<std::string> Objection(const NodePod& pod, bool force, bool delete_empty_dir);

// "space/name, space/name, 3 more".
std::string PodNames(const std::vector<NodePod>& pods);

}  // namespace gantry::driver
