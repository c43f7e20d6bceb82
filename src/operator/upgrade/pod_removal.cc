// SPDX-License-Identifier: Apache-2.0

// Which pods may be removed from a node, and when is the next try? A pod that nothing would make
// anew, and one whose data would be lost, only if the policy says so.

#include "operator/upgrade/pod_removal.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::gpu_operator::upgrade {

WallTime DeadlineOf(WallTime began, std::chrono::seconds limit, WallTime seen_since) {
  return std::max(began + limit, seen_since + std::min(limit, kLeastTime));
}

std::string Forbidden(const NamedPod& pod, const policy::PodRemovalSpec& spec,
                      std::string_view field) {
  if (pod.facts.finished || pod.facts.deleting) {
    return "";
  }
  if (!pod.facts.managed && !spec.force) {
    return format("pod {} has no controller to make it anew, and {}.force is not set",
                  pod.key.Text(), field);
  }
  if (pod.facts.has_empty_dir && !spec.delete_empty_dir) {
    return format("pod {} would lose an emptyDir, and {}.deleteEmptyDir is not set", pod.key.Text(),
                  field);
  }
  return "";
}

std::string Describe(const NamedPod& pod) {
  return pod.facts.deleting ? pod.key.Text() + ", which is being deleted" : pod.key.Text();
}

Removal RemovalOf(const std::vector<const NamedPod*>& left, const std::optional<Eviction>& before,
                  WallTime now) {
  Removal removal;
  for (const NamedPod* pod : left) {
    if (!pod->facts.deleting) {
      removal.now.push_back({pod->key, pod->facts.uid});
    }
  }
  if (removal.now.empty()) {
    return removal;
  }
  const WallTime due = before.has_value() ? before->at + kEvictAgain : now;
  removal.next = now >= due ? now + kEvictAgain : due;
  if (now < due) {
    removal.now.clear();
  }
  return removal;
}

}  // namespace gantry::gpu_operator::upgrade
