// SPDX-License-Identifier: Apache-2.0
// Where do the labels go? Into one object, which the node owns: it outlives the pod, so that an
// upgrade or a crash takes no label from the node, and it goes with the node.
#include "operands/node_features/publisher.h"

#include "kube/client.h"
#include "kube/ensure.h"
#include "policy/kinds.h"
#include "policy/names.h"
#include "policy/node_feature.h"

namespace gantry::node_features {

Result<bool> Publisher::Publish(const LabelMap& labels) {
  TRY_ASSIGN(kube::Config config, kube::LoadConfig(target_.kubeconfig));
  const std::string space = target_.space.empty() ? config.space : target_.space;
  TRY_ASSIGN(const auto client,
             kube::Client::Create(std::move(config), {.component = "nfd-worker",
                                                      .field_manager = names::kFieldManager,
                                                      .max_idle_connections = 1}));
  if (node_uid_.empty()) {
    TRY_ASSIGN(const Json node, client->Get(kube::kinds::kNode, {"", target_.node}));
    node_uid_ = kube::UidOf(node);
  }
  return kube::Ensure(
      *client, policy::kNodeFeature, {space, target_.node}, [&](const Json* stored) {
        return policy::NodeFeatureObject({.name = target_.node,
                                          .space = space,
                                          .node = target_.node,
                                          .node_uid = node_uid_,
                                          .worker_version = policy::OurWorkerVersion(),
                                          .labels = labels},
                                         stored);
      });
}

}  // namespace gantry::node_features
