// SPDX-License-Identifier: Apache-2.0
// Where do the labels go? Into one object, which outlives the pod, so that an upgrade or a crash
// takes no label from the node.
#include "operands/node_features/publisher.h"

#include <algorithm>
#include <ranges>

#include "kube/client.h"
#include "kube/ensure.h"
#include "policy/kinds.h"
#include "policy/names.h"
#include "policy/node_feature.h"

namespace gantry::node_features {
namespace {

// Longer than all requests of one publication may take.
constexpr std::chrono::seconds kPublishing(120);

bool IsPassing(const std::string& feature) { return feature == "network.virtual"; }

}  // namespace

bool IsNews(const Described& before, const Described& now) {
  const auto lasting = [](const Described& described) {
    return described.features.instances |
           std::views::filter([](const auto& entry) { return !IsPassing(entry.first); });
  };
  return before.labels != now.labels || before.features.flags != now.features.flags ||
         before.features.attributes != now.features.attributes ||
         !std::ranges::equal(lasting(before), lasting(now));
}

Result<bool> Publisher::Publish(const Described& described) {
  TRY_ASSIGN(kube::Config config, kube::LoadConfig(target_.kubeconfig));
  const std::string space = target_.space.empty() ? config.space : target_.space;
  TRY_ASSIGN(const auto client,
             kube::Client::Create(std::move(config), {.component = "nfd-worker",
                                                      .field_manager = names::kFieldManager,
                                                      .max_idle_connections = 1}));
  return kube::Ensure(
      *client, policy::kNodeFeature, {space, target_.node}, [&](const Json* stored) {
        return policy::NodeFeatureObject({.name = target_.node,
                                          .space = space,
                                          .node = target_.node,
                                          .worker_version = policy::OurWorkerVersion(),
                                          .labels = described.labels,
                                          .features = ToJson(described.features)},
                                         stored);
      });
}

Result<bool> Publisher::PublishInChild(const Described& node, int stop_fd) {
  const auto publish = [&]() -> Result<std::string> {
    TRY_ASSIGN(const bool wrote, Publish(node));
    return wrote ? "written" : "";
  };
  TRY_ASSIGN(const std::string written, child_.Run(publish, kPublishing, stop_fd));
  return !written.empty();
}

}  // namespace gantry::node_features
