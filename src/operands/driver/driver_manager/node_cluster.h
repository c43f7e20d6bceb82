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

// This node and its pods, as the API server has them. Every call blocks up to the client's timeout.
class NodeCluster {
 public:
  static Result<NodeCluster> Connect(const ManagerFlags& flags);

  struct NodeState {
    agent::Labels labels;
    bool unschedulable = false;
    bool cordoned_here = false;      // by this manager, or one before it
    bool operator_upgrades = false;  // the operator empties the node itself
  };
  Result<NodeState> Node();

  Status SetLabels(const agent::Labels& labels);
  // Nothing is written if the node is cordoned already; a mark of the manager's own says whose the
  // cordon is, so that only it is taken back.
  Status Cordon();
  Status Uncordon();

  struct Pods {
    std::vector<agent::NodePod> pods;
    std::string version;  // a watch can go on from here
  };
  // Those on this node that match a label selector; empty: all.
  Result<Pods> PodsOfNode(const std::string& labels = "");

  // Blocks until something happens to a pod of this node after `version`, or the limit passes.
  void AwaitPodEvent(const std::string& version, std::chrono::seconds limit);

  Status Evict(const agent::NodePod& pod);

 private:
  NodeCluster(std::unique_ptr<kube::Client> client, std::string node)
      : client_(std::move(client)), node_(std::move(node)) {}

  std::unique_ptr<kube::Client> client_;
  std::string node_;
};

}  // namespace gantry::driver
