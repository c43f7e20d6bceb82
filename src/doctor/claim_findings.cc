// SPDX-License-Identifier: Apache-2.0
// Why does a claim get no GPU? The scheduler's message has no reason for a device; the numbers of
// offered and of allocated devices tell a full cluster from a claim that nothing matches.
#include "doctor/claim_findings.h"

#include <algorithm>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::doctor {

bool IsByClaims(const ClusterFacts& cluster) {
  return std::ranges::any_of(cluster.policies, &PolicyFacts::by_claims);
}

std::optional<Finding> NoDevices(const StagedCluster& cluster, const NodeFacts& node) {
  const ClusterFacts& facts = cluster.facts;
  if (!facts.devices.has_value() || facts.devices->contains(node.name) ||
      cluster.Of(node).unfinished || !LabelIs(node, DeployLabel("dra-driver"), "true")) {
    return std::nullopt;
  }
  return Problem("NoDevicesOffered", NodeName(node), "no ResourceSlice has a device of it",
                 format("kubectl describe node {} names in its events the devices that are left "
                        "out; the log of the DRA driver there says more: kubectl logs -A -l "
                        "app=nvidia-dra-driver-kubelet-plugin --prefix",
                        node.name));
}

std::optional<Finding> ClaimWaits(const ClusterFacts& cluster, const PodFacts& pod) {
  if (pod.scheduler.empty() || !cluster.devices.has_value()) {
    return std::nullopt;
  }
  const std::string object = format("pod {}/{}", pod.ns, pod.name);
  long long offered = 0;
  for (const auto& [node, count] : *cluster.devices) {
    offered += count;
  }
  if (offered == 0) {
    return Problem("ResourceNotOffered", object, "no node offers a device to claims",
                   "check the findings of the nodes");
  }
  if (cluster.devices_allocated >= offered) {
    return Note("GpusInUse", object,
                format("waits: all {} devices that nodes offer to claims are allocated", offered),
                "wait, end other pods, or add a node");
  }
  return Problem(
      "ClaimNotAllocated", object,
      format("gets no device, although {} of {} are not allocated: {}",
             offered - cluster.devices_allocated, offered, pod.scheduler),
      "compare the DeviceClass and the selectors of its claim (kubectl describe resourceclaim) "
      "with the devices of the nodes that it may run on (kubectl get resourceslices -o yaml); a "
      "resource nvidia.com/gpu needs the feature gate DRAExtendedResource");
}

}  // namespace gantry::doctor
