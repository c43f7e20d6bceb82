// SPDX-License-Identifier: Apache-2.0

// What must the API server have for GPUs by resource claims, and which nodes offer some?

#include "operator/claim_facts.h"

#include "base/text.h"
#include "policy/kinds.h"

namespace gantry::gpu_operator {

SliceFacts ProjectSlice(const Json& slice) {
  return {.node = TextAt(slice, "spec.nodeName"),
          .devices = !ListAt(slice, "spec.devices").empty()};
}

std::string ClaimsNotServed(const std::string& server) {
  return format(
      "a GPUCluster needs Kubernetes 1.34 or later: this API server{} does not serve {}/{}; use a "
      "ClusterPolicy",
      server.empty() ? "" : format(" ({})", server), kube::kinds::kResourceSlice.group,
      kube::kinds::kResourceSlice.version);
}

}  // namespace gantry::gpu_operator
