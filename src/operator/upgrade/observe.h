// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operator/daemon_set_facts.h"
#include "operator/node_facts.h"
#include "operator/upgrade/state.h"

namespace gantry::gpu_operator::upgrade {

// What the watches show of the drivers.
struct DriverSnapshot {
  std::vector<NamedPod> drivers;  // their pods, of all nodes
  std::vector<RevisionFacts> revisions;
  std::map<std::string, DaemonSetFacts> daemon_sets;  // by name
};

// What the watches show, looked up by node. The snapshot outlives it.
class Observer {
 public:
  explicit Observer(const DriverSnapshot& snapshot);
  // All of the node but the pods that its state asks for and what was tried.
  [[nodiscard]] NodeInput Observe(const std::string& name, const NodeFacts& facts) const;

 private:
  [[nodiscard]] DriverPod Judge(const NamedPod& pod, const NodeFacts& node) const;
  // Whether the revision makes the pod as it is, perhaps for other nodes.
  [[nodiscard]] bool IsMadeBy(const RevisionFacts& revision, const NamedPod& pod) const;

  const DriverSnapshot& snapshot_;
  std::map<std::string, const RevisionFacts*> current_;  // by DaemonSet
  std::map<std::string, const NamedPod*> drivers_;       // by node
};

// Whether the node has anything of an upgrade on it: a quick look.
bool HasTraces(const NodeFacts& facts);

}  // namespace gantry::gpu_operator::upgrade
