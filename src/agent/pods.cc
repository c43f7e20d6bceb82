// SPDX-License-Identifier: Apache-2.0
// Which pods of a node block a change of its GPUs, and which of them may be evicted?
#include "agent/pods.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "policy/names.h"
#include "policy/pod_traits.h"

namespace gantry::agent {
namespace {

// Labels `app` of the pods of pausable operands (pause.h).
constexpr auto kApps = std::to_array<std::string_view>(
    {"nvidia-operator-validator", "nvidia-container-toolkit-daemonset",
     "nvidia-device-plugin-daemonset", "nvidia-device-plugin-mps-control-daemon",
     "gpu-feature-discovery", "nvidia-dcgm-exporter", "nvidia-dcgm", "nvidia-dcgm-exporter-dra",
     "nvidia-dcgm-dra", "nvidia-mig-manager", "nvidia-sandbox-validator",
     "nvidia-sandbox-device-plugin-daemonset", "nvidia-vgpu-device-manager"});

constexpr size_t kPodsNamed = 5;

}  // namespace

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

bool MustBeGone(const NodePod& pod, std::string_view ns) {
  if (pod.finished || !pod.of_daemon_set) {
    return false;
  }
  return pod.gpu_client || (pod.key.ns == ns && std::ranges::find(kApps, pod.app) != kApps.end());
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
    if (parts.size() == kPodsNamed) {
      parts.push_back(format("{} more", pods.size() - kPodsNamed));
      break;
    }
    parts.push_back(pod.key.Text());
  }
  return Join(parts, ", ");
}

}  // namespace gantry::agent
