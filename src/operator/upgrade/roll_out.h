// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "operator/upgrade/state.h"
#include "policy/cluster_policy.h"

namespace gantry::gpu_operator::upgrade {

// Nodes by where their upgrade is, as NVIDIA counts them.
struct Counts {
  int total = 0;  // nodes with a driver's pod, or in an upgrade and to have one
  int done = 0;
  int pending = 0;      // wait for their turn
  int in_progress = 0;  // failed ones too: they keep their part of the budget
  int failed = 0;
  int available = 0;  // more that might start now
  bool operator==(const Counts&) const = default;
  Counts& operator+=(const Counts& other);
};

struct RollOutPlan {
  std::vector<Change> changes;    // none of them empty
  std::vector<NodeStatus> nodes;  // all that are not done: failed, in progress, pending; by name
  Counts counts;
  std::optional<WallTime> requeue_at;
  bool unfinished = false;  // some node, of those that nobody has switched off, is not done
  // Whether a change lets a node start: what is said about the others must be true just then.
  [[nodiscard]] bool starts() const;
};

// What is to be done now. Never lets more nodes start than the policy's budget has room for: nodes
// that are unavailable for other reasons take their part of it. Nodes that are cordoned already
// start in any case, as they take nothing from anybody (NVIDIA's rule).
RollOutPlan RollOut(const std::vector<NodeInput>& nodes, const policy::UpgradePolicy& policy,
                    WallTime now);

// How nodes are upgraded by the NVIDIADriver that they belong to; with an empty name, all others.
// nullopt: nobody knows, and these nodes stay as they are.
using Policies = std::map<std::string, std::optional<policy::UpgradePolicy>>;
// nullptr: the node's driver is not upgraded, or nobody knows how.
const policy::UpgradePolicy* PolicyOf(const Policies& policies, const NodeInput& node);
// Each policy's budget is for its own nodes. What was begun on nodes without one is taken back. Of
// all nodes together, no more than kNodesAtOnce begin to be emptied.
RollOutPlan RollOutAll(const std::vector<NodeInput>& nodes, const Policies& policies, WallTime now);

// Whether drivers are upgraded under this policy: it asks for it, this operator deploys the
// drivers, and no node is for virtual machines.
bool IsOn(const policy::ClusterPolicy& policy);

// All queries of pods that the nodes' states ask for. At most kNodesAtOnce nodes are looked at one
// by one, those first that are at it longest; the others have to wait.
std::set<PodQuery> PodsFor(const std::vector<NodeInput>& nodes, const Policies& policies,
                           const std::string& ns);
inline constexpr size_t kNodesAtOnce = 16;

// The plan in the ClusterPolicy's status (driverUpgrades). Of very many nodes the first are shown.
Json StatusOf(const RollOutPlan& plan);
// The same in one line, for the driver's state; empty when every node is done.
std::string Summary(const RollOutPlan& plan);

// What the policy's status and the metrics say of the upgrades.
struct UpgradeStatus {
  bool on = false;
  Counts counts;
  std::string summary;  // in one line; empty: nothing is to be said
  Json status;          // null while they are off
  bool unfinished = false;
  bool operator==(const UpgradeStatus&) const = default;
};

}  // namespace gantry::gpu_operator::upgrade
