// SPDX-License-Identifier: Apache-2.0
// Why is a GPU node not ready? From its kubelet's messages.
#include "doctor/node_not_ready.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "doctor/node_stage.h"
#include "policy/taints.h"

namespace gantry::doctor {
namespace {

// The time in which a machine starts and its agents come up.
constexpr std::chrono::minutes kStartPatience(15);

// Not for a node whose kubelet has run before.
bool IsStarted(const ClusterFacts& cluster, const NodeFacts& node) {
  const bool passes = std::ranges::any_of(
      node.taints, [](const Taint& taint) { return policy::PassesByItself(taint.key); });
  return node.why_not_ready.find("stopped posting") == std::string::npos &&
         (IsNew(cluster, node.made_at) ||
          (passes && node.made_at > Rfc3339(cluster.now - kStartPatience)));
}

}  // namespace

Finding NodeNotReady(const ClusterFacts& cluster, const NodeFacts& node) {
  const std::string words = Lower(node.why_not_ready);
  const auto says = [&words](std::string_view each) {
    return words.find(each) != std::string::npos;
  };
  if (says("container runtime is down") || says("container runtime not ready") ||
      says("container runtime status check may not have completed yet") || says("pleg")) {
    return Problem(
        "RuntimeDown", NodeName(node),
        format("has GPUs, but its container runtime does not respond: {}", node.why_not_ready),
        "run `systemctl status containerd` (or crio) there; `gantry host-cleanup` removes the "
        "toolkit's part of its configuration");
  }
  constexpr char kNotReady[] = "NodeNotReady";
  const std::string message =
      "has GPUs, but is not ready" + (node.why_not_ready.empty() ? "" : ": " + node.why_not_ready);
  if (node.leaving) {
    return Note(kNotReady, NodeName(node), message, "wait: it is being removed");
  }
  if (IsStarted(cluster, node)) {
    return Note(kNotReady, NodeName(node), message, "wait: it is starting");
  }
  return Problem(
      kNotReady, NodeName(node), message,
      says("network not ready")
          ? "check the network plugin's pod there: it has not configured the node (/etc/cni/net.d)"
          : "check the kubelet on that node");
}

}  // namespace gantry::doctor
