// SPDX-License-Identifier: Apache-2.0
// Which changes of a node are worth a request, and what does its NodeFeature contain?
#include "operands/node_features/publisher.h"

#include <algorithm>
#include <ranges>

#include "policy/node_feature.h"

namespace gantry::node_features {
namespace {

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

Result<bool> Publish(const agent::FeaturePublisher& publisher, kube::Client& client,
                     const Described& described) {
  return publisher.Store(client, publisher.node(), [&](const Json* /*stored*/) {
    policy::NodeFeature wanted;
    wanted.worker_version = policy::OurWorkerVersion();
    wanted.labels = described.labels;
    wanted.features = ToJson(described.features);
    return wanted;
  });
}

}  // namespace gantry::node_features
