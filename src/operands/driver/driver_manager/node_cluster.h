// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/pause.h"
#include "agent/pods.h"
#include "kube/client.h"
#include "operands/driver/driver_manager/flags.h"
#include "operands/driver/driver_manager/manager_plan.h"

namespace gantry::driver {

// This node and its pods, from the API server. Every call blocks up to the client's timeout.
class NodeCluster {
 public:
  static Result<NodeCluster> Connect(const ManagerFlags& flags);

  struct NodeState {
    agent::Labels labels;
    bool unschedulable = false;
    bool cordoned_here = false;      // by this manager, or an earlier one
    bool operator_upgrades = false;  // the operator drains the node itself
  };
  Result<NodeState> Node();

  Status SetLabels(const agent::Labels& labels);
  // Writes nothing if the node is cordoned already. A mark records the manager's own cordon, so
  // that only that is removed.
  Status Cordon();
  Status Uncordon();

  struct Pods {
    std::vector<agent::NodePod> pods;
    std::string version;  // a watch can continue from here
  };
  // The pods on this node that match a label selector; empty: all.
  Result<Pods> PodsOfNode(const std::string& labels = "");

  // Blocks until an event of a pod of this node after `version`, or until the limit passes.
  void AwaitPodEvent(const std::string& version, std::chrono::seconds limit);

  Status Evict(const agent::NodePod& pod);

 private:
  NodeCluster(std::unique_ptr<kube::Client> client, std::string node)
      : client_(std::move(client)), node_(std::move(node)) {}

  std::unique_ptr<kube::Client> client_;
  std::string node_;
};

}  // namespace gantry::driver
