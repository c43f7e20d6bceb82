// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/object.h"

// Pods of one node, as somebody sees them who needs its GPUs free. All of it pure.
namespace gantry::agent {

struct NodePod {
  kube::Key key;
  std::string uid;
  std::string app;  // label `app`
  bool of_daemon_set = false;
  bool managed = false;  // by any controller
  bool mirror = false;   // of a file on the node
  bool finished = false;
  bool uses_gpus = false;
  bool has_empty_dir = false;
  bool gpu_client = false;  // its node selector has nvidia.com/gpu.deploy.client
};
// Of a pod as read from the API.
NodePod ProjectNodePod(const Json& pod);

// Those of a paused operand, or of a DaemonSet of GPU clients: they must be
// gone before the driver is. `ns`: the operands' namespace.
bool MustBeGone(const NodePod& pod, std::string_view ns);

// Those that an eviction is about: with GPUs only, or all (a drain). DaemonSets' and mirror pods
// are never, finished ones neither.
bool IsEvicted(const NodePod& pod, bool only_gpus);

// Why a pod may not be evicted; nothing: it may. Names the setting that allows it.
std::optional<std::string> Objection(const NodePod& pod, bool force, bool delete_empty_dir);

// "namespace/name, namespace/name, 3 more".
std::string PodNames(const std::vector<NodePod>& pods);

}  // namespace gantry::agent
