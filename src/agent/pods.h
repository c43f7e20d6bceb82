// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/object.h"

// Pods of one node, for a program that needs its GPUs free. All of it pure.
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

// Whether a pod is of a paused operand or of a DaemonSet of GPU clients: it must end before the
// driver is unloaded. `ns`: the operands' namespace.
bool MustBeGone(const NodePod& pod, std::string_view ns);

// Whether an eviction includes the pod: only pods with GPUs, or all (a drain); never DaemonSets'
// pods, mirror pods and finished pods.
bool IsEvicted(const NodePod& pod, bool only_gpus);

// Why a pod may not be evicted, with the setting that allows it; nothing: it may.
std::optional<std::string> Objection(const NodePod& pod, bool force, bool delete_empty_dir);

// "namespace/name, namespace/name, 3 more".
std::string PodNames(const std::vector<NodePod>& pods);

}  // namespace gantry::agent
