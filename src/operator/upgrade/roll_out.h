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

// Numbers of nodes by the state of their upgrade, as NVIDIA counts them.
struct Counts {
  int total = 0;  // nodes with a driver's pod, or in an upgrade and without one yet
  int done = 0;
  int pending = 0;      // waiting for their turn
  int in_progress = 0;  // also failed ones: they keep their part of the budget
  int failed = 0;
  int available = 0;  // more nodes that may start now
  bool operator==(const Counts&) const = default;
  Counts& operator+=(const Counts& other);
};

struct RollOutPlan {
  std::vector<Change> changes;    // none is empty
  std::vector<NodeStatus> nodes;  // all unfinished ones: failed, in progress, pending; by name
  Counts counts;
  std::optional<WallTime> requeue_at;
  bool unfinished = false;  // some node whose upgrades are enabled is not done
  // Whether a change starts a node: then the facts on the others must be up to date.
  [[nodiscard]] bool starts() const;
};

// The next steps. Never starts more nodes than the policy's budget allows; nodes that are
// unavailable for other reasons count. Nodes that are already cordoned always start, because no
// workload loses capacity (NVIDIA's rule).
RollOutPlan RollOut(const std::vector<NodeInput>& nodes, const policy::UpgradePolicy& policy,
                    WallTime now);

// The upgrade policies by NVIDIADriver; the empty name is for all other nodes. nullopt: unknown,
// and these nodes do not change.
using Policies = std::map<std::string, std::optional<policy::UpgradePolicy>>;
// nullptr: the node's driver is not upgraded, or its policy is unknown.
const policy::UpgradePolicy* PolicyOf(const Policies& policies, const NodeInput& node);
// Each policy's budget is for its own nodes. Started upgrades of nodes without a policy are rolled
// back. At most kNodesAtOnce of all nodes begin to drain.
RollOutPlan RollOutAll(const std::vector<NodeInput>& nodes, const Policies& policies, WallTime now);

// Whether drivers are upgraded under this policy: it enables upgrades, this operator deploys the
// drivers, and no node is for virtual machines.
bool IsOn(const policy::ClusterPolicy& policy);

// All pod queries that the nodes' states need. At most kNodesAtOnce nodes get queries of their own,
// those in progress longest first; the others have to wait.
std::set<PodQuery> PodsFor(const std::vector<NodeInput>& nodes, const Policies& policies,
                           const std::string& ns);
inline constexpr size_t kNodesAtOnce = 16;

// The plan in the ClusterPolicy's status (driverUpgrades). For very many nodes only the first are
// shown.
Json StatusOf(const RollOutPlan& plan);
// The same in one line, for the driver's state; empty when every node is done.
std::string Summary(const RollOutPlan& plan);

// The upgrades, for the policy's status and the metrics.
struct UpgradeStatus {
  bool on = false;
  Counts counts;
  std::string summary;  // in one line; empty: no message
  Json status;          // null while disabled
  bool unfinished = false;
  bool operator==(const UpgradeStatus&) const = default;
};

}  // namespace gantry::gpu_operator::upgrade
