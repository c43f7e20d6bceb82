// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "policy/cluster_policy.h"
#include "policy/image.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {

// What the objects of an operand are made from.
struct Context {
  policy::ClusterPolicy policy;
  std::string space;        // the operator's namespace, in which all operands run
  std::string image;        // of this release
  std::string pull_policy;  // of that image, where the policy says nothing
  std::string runtime = "containerd";
  Json owner;                      // an ownerReference to the ClusterPolicy
  std::string worker_config = {};  // of node feature discovery's workers, as YAML
};

using Objects = std::vector<Json>;

// The objects of each operand; the image is the chosen one. One file each in this folder.
Objects NodeFeatures(const Context& context);
Objects PreRequisites(const Context& context);
Objects OperatorMetrics(const Context& context);
Objects ContainerToolkit(const Context& context, const std::string& image);
Objects OperatorValidator(const Context& context, const std::string& image);
Objects DevicePlugin(const Context& context, const std::string& image);
Objects MpsControlDaemon(const Context& context, const std::string& image);
Objects GpuFeatureDiscovery(const Context& context, const std::string& image);
Objects NodeStatusExporter(const Context& context, const std::string& image);

// The DaemonSet that puts every node with GPUs back as it was; its pods are Ready when that is
// done.
Json HostCleanup(const Context& context);

// What one operand comes to.
struct DesiredOperand {
  const policy::Operand* operand = nullptr;
  bool wanted = false;
  policy::ImageChoice image;  // empty for operands without a DaemonSet
  Objects objects;            // none unless wanted and available
  std::string mistake;        // why its objects can't be made; what is there stays
};

// All operands in order. `node_features`: whether ours is to run (no other node feature discovery).
std::vector<DesiredOperand> DesiredOperands(const Context& context, bool node_features);

}  // namespace gantry::gpu_operator
