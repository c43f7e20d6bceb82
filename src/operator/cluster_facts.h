// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "operator/node_facts.h"
#include "operator/system_facts.h"

namespace gantry::gpu_operator {

// Facts on all nodes together. Lists of names are in order.
struct ClusterFacts {
  int nodes = 0;
  int gpu_nodes = 0;
  int described = 0;                       // nodes with labels of node feature discovery
  bool foreign_nfd = false;                // another node feature discovery is running
  std::vector<std::string> undescribed;    // Linux nodes, Ready, without such labels
  std::vector<std::string> gpus_gone;      // nodes that had GPUs, and have none now
  std::vector<std::string> gpu_not_ready;  // GPU nodes that are not Ready
  // Ready, device plugin wanted, and no GPU allocatable.
  std::vector<std::string> gpu_without_resource;
  // Ready, DRA driver wanted, and no device in a ResourceSlice.
  std::vector<std::string> gpu_without_device;
  std::vector<std::string> not_validated;  // Ready, validation failed: "node (reason: a sentence)"
  std::vector<std::string> mig_failed;     // Ready, not divided as asked: "node (layout: why)"
  std::vector<std::string> mig_waits;      // the same, while the change waits for holders
  std::vector<std::string> vms_not_validated;  // the same of nodes for virtual machines
  // Deploy label suffix -> nodes with it, and those of them on which that DaemonSet should have a
  // pod.
  std::map<std::string, int, std::less<>> labelled;
  std::map<std::string, int, std::less<>> expected;
  // GPU nodes on which no operand runs because of a taint, as "node: key=value:Effect".
  std::vector<std::string> untolerated;
  // GPU nodes by container runtime, as in the toolkit's RUNTIME: containerd, crio, docker.
  std::map<std::string, std::vector<std::string>, std::less<>> runtimes;
  bool system_known = false;       // some GPU node has labels of its system
  std::vector<std::string> rhcos;  // versions of RHCOS on GPU nodes, each once, in order
  bool operator==(const ClusterFacts&) const = default;
};

using NamedNodes = std::vector<std::pair<std::string, const NodeFacts*>>;

// Tolerations are those of the operands (core/v1 Toleration). `broken` returns the message in the
// NodeFeature object of that name (FeatureFacts::broken); empty: only the Node's labels are known.
// `with_devices`: the nodes with devices in ResourceSlices.
ClusterFacts Summarize(const NamedNodes& nodes, const Json& tolerations,
                       const std::function<std::string(const std::string& object)>& broken,
                       const std::set<std::string>& with_devices = {});

// The runtime for operands that don't detect a node's: the one that they are configured for
// already, as long as a node has it; else containerd if any node has it.
std::string RuntimeFor(const ClusterFacts& cluster, std::string_view there);
// Nodes with another one: "a (crio)".
std::vector<std::string> OtherRuntimes(const ClusterFacts& cluster, std::string_view runtime);

// The tag of NVIDIA's driver images for a system: some keep their drivers through minor versions.
// Empty if the system is not known.
std::string SystemTag(std::string_view id, std::string_view version);

// The taint that keeps a DaemonSet with these tolerations off the node, or nullptr. Counts the
// tolerations that the DaemonSet controller adds by itself.
const Taint* Untolerated(const std::vector<Taint>& taints, const Json& tolerations);
// Whether a user should tolerate it: false for a temporary taint.
bool IsToBeTolerated(const Taint& taint);
// "node: key=value:Effect".
std::string UntoleratedText(const std::string& node, const Taint& taint);

}  // namespace gantry::gpu_operator
