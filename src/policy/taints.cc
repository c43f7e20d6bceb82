// SPDX-License-Identifier: Apache-2.0
// Which taints mark a node that is still starting, or about to be removed? The keys are those of
// Kubernetes' cloud providers, of autoscalers, and of network and storage plugins.
#include "policy/taints.h"

#include <algorithm>
#include <array>

namespace gantry::policy {

bool PassesByItself(std::string_view taint_key) {
  static constexpr std::array<std::string_view, 5> kKeys = {
      "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption",
      "karpenter.sh/unregistered", "cloud.google.com/impending-node-termination"};
  static constexpr std::array<std::string_view, 3> kPrefixes = {
      "node.cloudprovider.kubernetes.io/", "startup-taint.cluster-autoscaler.kubernetes.io/",
      "aws-node-termination-handler/"};
  // node.cilium.io, ebs.csi.aws.com, efs.csi.aws.com
  constexpr std::string_view kAgent = "/agent-not-ready";
  return std::ranges::find(kKeys, taint_key) != kKeys.end() || taint_key.ends_with(kAgent) ||
         std::ranges::any_of(kPrefixes, [taint_key](std::string_view prefix) {
           return taint_key.starts_with(prefix);
         });
}

}  // namespace gantry::policy
