// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "base/error.h"
#include "operands/node_features/local_features.h"

namespace gantry::node_features {

// The NodeFeature object named like the node, by which the labels reach it.
class Publisher {
 public:
  struct Target {
    std::string kubeconfig;  // empty: as kube::LoadConfig finds it
    std::string space;       // empty: the credentials' own namespace
    std::string node;
  };
  explicit Publisher(Target target) : target_(std::move(target)) {}

  // Stores the labels unless they are stored already. Opens a connection and closes it again. True
  // if something was written.
  Result<bool> Publish(const LabelMap& labels);

 private:
  Target target_;
  std::string node_uid_;  // read once: a node that is registered anew gets new pods
};

}  // namespace gantry::node_features
