// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/feature_publisher.h"
#include "base/error.h"
#include "nfd/features.h"
#include "operands/node_features/local_features.h"

namespace gantry::node_features {

struct Described {
  LabelMap labels;
  nfd::Features features;
  bool operator==(const Described&) const = default;
};

// Whether there is something to publish. Virtual network devices alone are not: each pod adds and
// removes one. They are published with the next other change.
bool IsNews(const Described& before, const Described& now);

// Stores the NodeFeature object named like the node, by which the operator gets the node's
// features, unless it is already so. True if it was written.
Result<bool> Publish(const agent::FeaturePublisher& publisher, kube::Client& client,
                     const Described& described);

}  // namespace gantry::node_features
