// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operator/daemon_set_facts.h"
#include "operator/node_facts.h"
#include "operator/upgrade/state.h"

namespace gantry::gpu_operator::upgrade {

// The drivers as the watches show them.
struct DriverSnapshot {
  std::vector<NamedPod> drivers;  // their pods, of all nodes
  std::vector<RevisionFacts> revisions;
  std::map<std::string, DaemonSetFacts> daemon_sets;  // by name
};

// The watches' data by node. The snapshot outlives it.
class Observer {
 public:
  explicit Observer(const DriverSnapshot& snapshot);
  // The node's entire input, except the pods that its state needs and earlier evictions.
  [[nodiscard]] NodeInput Observe(const std::string& name, const NodeFacts& facts) const;

 private:
  [[nodiscard]] DriverPod Judge(const NamedPod& pod, const NodeFacts& node) const;
  // Whether the revision makes such a pod, perhaps for other nodes.
  [[nodiscard]] bool IsMadeBy(const RevisionFacts& revision, const NamedPod& pod) const;

  const DriverSnapshot& snapshot_;
  std::map<std::string, const RevisionFacts*> current_;  // by DaemonSet
  std::map<std::string, const NamedPod*> drivers_;       // by node
};

// Whether the node has any trace of an upgrade: a fast check.
bool HasTraces(const NodeFacts& facts);

}  // namespace gantry::gpu_operator::upgrade
