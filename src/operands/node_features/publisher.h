// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "base/error.h"
#include "host/child_call.h"
#include "nfd/features.h"
#include "operands/node_features/local_features.h"

namespace gantry::node_features {

struct Described {
  LabelMap labels;
  nfd::Features features;
  bool operator==(const Described&) const = default;
};

// Whether there is something to publish. Network devices that are only virtual are none by
// themselves: each pod brings one and takes it. They go along with the next news.
bool IsNews(const Described& before, const Described& now);

// The NodeFeature object named like the node, by which what is known of it reaches the operator.
class Publisher {
 public:
  struct Target {
    std::string kubeconfig;  // empty: as kube::LoadConfig finds it
    std::string space;       // empty: the credentials' own namespace
    std::string node;
  };
  explicit Publisher(Target target) : target_(std::move(target)) {}

  // Stores it unless it is stored already. Opens a connection and closes it again. True
  // if something was written.
  Result<bool> Publish(const Described& node);
  // The same in a child process, with which TLS and its megabytes go. Single-threaded.
  Result<bool> PublishInChild(const Described& node, int stop_fd);

 private:
  Target target_;
  host::ChildCall child_{"publish labels"};
};

}  // namespace gantry::node_features
