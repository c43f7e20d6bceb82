// SPDX-License-Identifier: Apache-2.0

// How is a pod removed? By the eviction API, or by deletion; never another pod of its name.

#include "operator/upgrade/remove_pods.h"

namespace gantry::gpu_operator::upgrade {

Eviction Remove(kube::Client& client, const std::vector<PodRef>& pods, RemoveBy by, WallTime at) {
  Eviction eviction{.at = at, .refused = ""};
  for (const PodRef& pod : pods) {
    const Status removed = by == RemoveBy::kEviction
                               ? client.Evict(pod.key, {.uid = pod.uid})
                               : client.Delete(kube::kinds::kPod, pod.key, {.uid = pod.uid});
    if (!removed.has_value() && removed.error().kind != ErrorKind::kNotFound) {
      eviction.refused = removed.error().message;
    }
  }
  return eviction;
}

}  // namespace gantry::gpu_operator::upgrade
