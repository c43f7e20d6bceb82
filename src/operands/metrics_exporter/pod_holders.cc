// SPDX-License-Identifier: Apache-2.0
// Which pods hold which GPUs, and what is said of them in their series? The kubelet knows the
// devices, its folders the uids, cgroups which pods still run, and the API server the labels.
#include "operands/metrics_exporter/pod_holders.h"

#include <algorithm>

namespace gantry::metrics_exporter {
namespace {

void AddFacts(const PodsSeen& seen, const PodChoice& choice, gpu::Holder& holder) {
  if (const auto uid = seen.node.uids.find({holder.ns, holder.pod}); uid != seen.node.uids.end()) {
    holder.uid = uid->second;
  }
  std::string uid = holder.uid;
  const auto facts = seen.facts.find({holder.ns, holder.pod});
  if (facts != seen.facts.end()) {
    // Of a static pod the API server has another uid than its cgroup.
    uid = facts->second.uid;
    holder.labels = facts->second.labels;
    if (holder.uid.empty()) {
      holder.uid = uid;
    }
  }
  if ((choice.uid_label || choice.every_holder) && !uid.empty()) {
    holder.attributes.emplace_back("pod_uid", uid);
  }
}

bool HasEnded(const PodsSeen& seen, const gpu::Holder& holder) {
  return seen.node.running && !holder.uid.empty() && !seen.node.running->contains(holder.uid);
}

}  // namespace

gpu::Holders HoldersNow(const PodsSeen& seen, const std::vector<gpu::Gpu>& gpus,
                        const PodChoice& choice) {
  gpu::Holders holders = gpu::HoldersOf(seen.pods, gpus, choice.resource_names);
  AddClaimHolders(seen.pods, seen.devices, seen.claims, gpus, holders);
  for (auto& [part, all] : holders) {
    std::vector<gpu::Holder> kept;
    for (gpu::Holder& holder : all) {
      AddFacts(seen, choice, holder);
      if (!(choice.every_holder && HasEnded(seen, holder)) &&
          std::ranges::find(kept, holder) == kept.end()) {
        kept.push_back(std::move(holder));
      }
    }
    all = std::move(kept);
  }
  return holders;
}

}  // namespace gantry::metrics_exporter
