// SPDX-License-Identifier: Apache-2.0
// What does the driver manager write to the API server? On its Node only the deploy labels, the
// cordon and the mark of its own cordon, each by a merge patch.
#include "operands/driver/driver_manager/node_cluster.h"

#include "base/text.h"
#include "policy/names.h"

namespace gantry::driver {
namespace {

const kube::Kind& kNode = kube::kinds::kNode;
const kube::Kind& kPod = kube::kinds::kPod;

}  // namespace

Result<NodeCluster> NodeCluster::Connect(const ManagerFlags& flags) {
  TRY_ASSIGN(kube::Config config, kube::LoadConfig(flags.kubeconfig));
  TRY_ASSIGN(std::unique_ptr<kube::Client> client,
             kube::Client::Create(std::move(config), {.component = kManagerProgram,
                                                      .field_manager = names::kFieldManager,
                                                      .max_idle_connections = 1}));
  return NodeCluster(std::move(client), flags.node_name);
}

Result<NodeCluster::NodeState> NodeCluster::Node() {
  TRY_ASSIGN(const Json node, client_->Get(kNode, {"", node_}));
  NodeState state;
  state.labels = agent::LabelsOf(node);
  state.unschedulable = BoolAt(node, "spec.unschedulable", false);
  state.cordoned_here = kube::AnnotationOf(node, names::kManagerCordon) != nullptr;
  const std::string* const upgrades = kube::AnnotationOf(node, names::kUpgradeEnabled);
  state.operator_upgrades = upgrades != nullptr && *upgrades == "true";
  return state;
}

Status NodeCluster::SetLabels(const agent::Labels& labels) {
  if (labels.empty()) {
    return {};
  }
  TRY(client_->MergePatch(kNode, {"", node_}, {{"metadata", {{"labels", labels}}}}));
  return {};
}

Status NodeCluster::Cordon() {
  TRY_ASSIGN(const NodeState now, Node());
  if (now.unschedulable) {
    return {};
  }
  TRY(client_->MergePatch(kNode, {"", node_},
                          {{"metadata", {{"annotations", {{names::kManagerCordon, "true"}}}}},
                           {"spec", {{"unschedulable", true}}}}));
  return {};
}

Status NodeCluster::Uncordon() {
  TRY_ASSIGN(const NodeState now, Node());
  if (!now.cordoned_here) {
    return {};
  }
  TRY(client_->MergePatch(kNode, {"", node_},
                          {{"metadata", {{"annotations", {{names::kManagerCordon, nullptr}}}}},
                           {"spec", {{"unschedulable", nullptr}}}}));
  return {};
}

Result<NodeCluster::Pods> NodeCluster::PodsOfNode(const std::string& labels) {
  Pods found;
  TRY_ASSIGN(
      found.version,
      client_->List(kPod, {.ns = "", .labels = labels, .fields = "spec.nodeName=" + node_},
                    [&](const Json& pod) { found.pods.push_back(agent::ProjectNodePod(pod)); }));
  return found;
}

void NodeCluster::AwaitPodEvent(const std::string& version, std::chrono::seconds limit) {
  std::stop_source happened;
  const auto bounded = client_->Bounded(happened.get_token());
  // The caller checks again, however it ends.
  const Status ended = bounded->WatchOnce(
      kPod, {.ns = "", .labels = "", .fields = "spec.nodeName=" + node_},
      {.resource_version = version, .server_timeout = limit, .idle_limit = limit},
      [&happened](const Json& /*event*/) { happened.request_stop(); });
  static_cast<void>(ended);
}

Status NodeCluster::Evict(const agent::NodePod& pod) {
  Status evicted = client_->Evict(pod.key, {.uid = pod.uid});
  // The pod was deleted, or another pod has its name by now.
  const bool gone = !evicted && (evicted.error().kind == ErrorKind::kNotFound ||
                                 evicted.error().kind == ErrorKind::kConflict);
  return gone ? Status{} : evicted;
}

}  // namespace gantry::driver
