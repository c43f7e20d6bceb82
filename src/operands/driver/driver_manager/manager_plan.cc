// SPDX-License-Identifier: Apache-2.0
// A driver is exchanged under a node that is in use. Who uses it through the operator is asked to
// go by its label, who has a GPU is evicted if this manager may, and nothing is unloaded before
// they are gone; afterwards everybody comes back, also after a failure.
#include "operands/driver/driver_manager/manager_plan.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "policy/names.h"
#include "policy/pod_traits.h"

namespace gantry::driver {
namespace {

constexpr std::string_view kPaused = names::kDeployPaused;

// Suffixes of nvidia.com/gpu.deploy.: the operands that use the driver (contract: NVIDIA's driver
// manager pauses exactly these).
constexpr auto kPausable = std::to_array<std::string_view>(
    {"operator-validator", "container-toolkit", "device-plugin", "gpu-feature-discovery",
     "dcgm-exporter", "dcgm", "nvsm", "sandbox-validator", "sandbox-device-plugin",
     "vgpu-device-manager", "dra-validator", "dcgm-dra", "dcgm-exporter-dra", "mig-manager",
     "client"});

// Labels `app` of their pods.
constexpr auto kApps = std::to_array<std::string_view>(
    {"nvidia-operator-validator", "nvidia-container-toolkit-daemonset",
     "nvidia-device-plugin-daemonset", "nvidia-device-plugin-mps-control-daemon",
     "gpu-feature-discovery", "nvidia-dcgm-exporter", "nvidia-dcgm", "nvidia-dcgm-exporter-dra",
     "nvidia-dcgm-dra", "nvidia-mig-manager", "nvidia-sandbox-validator",
     "nvidia-sandbox-device-plugin-daemonset", "nvidia-vgpu-device-manager"});

constexpr size_t kNamed = 5;

template <typename Change>
Labels Changed(const Labels& node, std::string_view own_label, const Change& change) {
  Labels changed;
  for (const auto& [key, value] : node) {
    const bool deploys =
        key.starts_with(names::kDeployPrefix) &&
        std::ranges::find(kPausable, std::string_view(key).substr(
                                         std::string_view(names::kDeployPrefix).size())) !=
            kPausable.end();
    if (!deploys && (own_label.empty() || key != own_label)) {
      continue;
    }
    if (std::string now = change(value); now != value) {
      changed[key] = std::move(now);
    }
  }
  return changed;
}

}  // namespace

std::string PausedValue(std::string_view value) {
  if (value.empty() || value == "false" || value.find(kPaused) != std::string_view::npos) {
    return std::string(value);
  }
  return value == "true" ? std::string(kPaused) : format("{}_{}", value, kPaused);
}

std::string ResumedValue(std::string_view value) {
  if (value == kPaused) {
    return "true";
  }
  const size_t at = value.find(kPaused);
  if (at == std::string_view::npos) {
    return std::string(value);
  }
  std::string rest =
      std::string(value.substr(0, at)) + std::string(value.substr(at + kPaused.size()));
  while (rest.starts_with('_')) {
    rest.erase(0, 1);
  }
  while (rest.ends_with('_')) {
    rest.pop_back();
  }
  return rest.empty() ? "true" : rest;
}

Labels PausedLabels(const Labels& node, std::string_view own_label) {
  return Changed(node, own_label, PausedValue);
}

Labels ResumedLabels(const Labels& node, std::string_view own_label) {
  return Changed(node, own_label, ResumedValue);
}

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
  // Also where nothing was loaded: an earlier manager may have been killed in the middle.
  steps.insert(steps.end(), {Step::kUncordon, Step::kResume});
  return plan;
}

std::vector<Step> TakeBack(const std::vector<Step>& done) {
  std::vector<Step> back;
  const auto has = [&](Step step) { return std::ranges::find(done, step) != done.end(); };
  // A drain that was to help unloading has cordoned too.
  if (has(Step::kCordon) || has(Step::kUnload)) {
    back.push_back(Step::kUncordon);
  }
  if (has(Step::kPause)) {
    back.push_back(Step::kResume);
  }
  return back;
}

NodePod ProjectNodePod(const Json& pod) {
  NodePod facts;
  facts.key = kube::KeyOf(pod);
  facts.uid = kube::UidOf(pod);
  const std::string* const app = kube::LabelOf(pod, "app");
  facts.app = app == nullptr ? "" : *app;
  const policy::PodTraits traits = policy::TraitsOf(pod);
  facts.managed = traits.managed;
  facts.of_daemon_set = !traits.daemon_set.empty();
  facts.mirror = traits.mirror;
  facts.finished = traits.finished;
  facts.uses_gpus = traits.uses_gpus;
  facts.has_empty_dir = traits.has_empty_dir;
  const Json* const selector = At(pod, "spec.nodeSelector");
  facts.gpu_client = selector != nullptr && selector->is_object() &&
                     selector->contains(std::string(names::kDeployPrefix) + "client");
  return facts;
}

bool MustBeGone(const NodePod& pod, std::string_view space) {
  if (pod.finished || !pod.of_daemon_set) {
    return false;
  }
  return pod.gpu_client ||
         (pod.key.space == space && std::ranges::find(kApps, pod.app) != kApps.end());
}

bool IsEvicted(const NodePod& pod, bool only_gpus) {
  return !pod.finished && !pod.mirror && !pod.of_daemon_set && (pod.uses_gpus || !only_gpus);
}

std::optional<std::string> Objection(const NodePod& pod, bool force, bool delete_empty_dir) {
  if (!pod.managed && !force) {
    return format("pod {} has no controller that makes it anew (DRAIN_USE_FORCE)", pod.key.Text());
  }
  if (pod.has_empty_dir && !delete_empty_dir) {
    return format("pod {} has data in an emptyDir (DRAIN_DELETE_EMPTYDIR_DATA)", pod.key.Text());
  }
  return std::nullopt;
}

std::string PodNames(const std::vector<NodePod>& pods) {
  std::vector<std::string> parts;
  for (const NodePod& pod : pods) {
    if (parts.size() == kNamed) {
      parts.push_back(format("{} more", pods.size() - kNamed));
      break;
    }
    parts.push_back(pod.key.Text());
  }
  return Join(parts, ", ");
}

}  // namespace gantry::driver
