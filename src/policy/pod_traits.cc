// SPDX-License-Identifier: Apache-2.0

// Which pods block the replacement of a driver? The operator asks for the entire cluster, the
// driver manager for its own node, and both must get the same result. A pod uses GPUs if it
// requests what the device plugin offers: nvidia.com/gpu with any suffix, and MIG devices.

#include "policy/pod_traits.h"

#include <algorithm>

#include "policy/names.h"

namespace gantry::policy {
namespace {

const Json* ControllerOf(const Json& object) {
  for (const Json& owner : ListAt(object, "metadata.ownerReferences")) {
    if (BoolAt(owner, "controller", false)) {
      return &owner;
    }
  }
  return nullptr;
}

bool AsksForGpus(const Json& container) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"resources.limits", "resources.requests"},
      [&](const char* path) {
        const Json* resources = At(container, path);
        return resources != nullptr && resources->is_object() &&
               std::ranges::any_of(resources->items(), [](const auto& item) {
                 return names::IsGpuResource(item.key());
               });
      });
}

}  // namespace

std::string DaemonSetOf(const Json& object) {
  const Json* controller = ControllerOf(object);
  return controller != nullptr && TextAt(*controller, "kind") == "DaemonSet"
             ? TextAt(*controller, "name")
             : "";
}

PodTraits TraitsOf(const Json& pod) {
  PodTraits traits;
  traits.daemon_set = DaemonSetOf(pod);
  traits.managed = ControllerOf(pod) != nullptr;
  traits.mirror = At(pod, {"metadata", "annotations", "kubernetes.io/config.mirror"}) != nullptr;
  const std::string phase = TextAt(pod, "status.phase");
  traits.finished = phase == "Succeeded" || phase == "Failed";
  for (const char* list : {"spec.containers", "spec.initContainers"}) {
    traits.uses_gpus |= std::ranges::any_of(ListAt(pod, list), AsksForGpus);
  }
  traits.has_empty_dir = std::ranges::any_of(
      ListAt(pod, "spec.volumes"), [](const Json& volume) { return volume.contains("emptyDir"); });
  return traits;
}

}  // namespace gantry::policy
