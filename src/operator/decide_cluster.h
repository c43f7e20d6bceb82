// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "operator/desired/operand_cache.h"
#include "operator/driver_plan.h"
#include "operator/node_labels.h"
#include "operator/observe_cluster.h"
#include "operator/plan.h"
#include "operator/settings.h"
#include "operator/upgrade/roll_out.h"
#include "operator/verdict.h"
#include "policy/gpu_cluster_policy.h"

namespace gantry::gpu_operator {

// The input of a pass. All of it outlives the decision.
struct ClusterInput {
  // The policies that own the objects; the first gets the status. None: only NVIDIADrivers count.
  const std::vector<Json>& owners;
  const policy::LaidOver& asked;        // the owners' request, as a ClusterPolicy
  const policy::ClusterPolicy& policy;  // the same, parsed; see WithStartupTaint
  const std::vector<Json>& drivers;     // NVIDIADrivers, by name
  const Settings& settings;
  const ClusterObservation& seen;
  bool foreign_nfd = false;  // another node feature discovery is running
};

// All desired objects, of the operands and of the drivers.
struct DesiredObjects {
  std::vector<const Json*> objects;
  std::set<Incomplete> incomplete;  // objects that can't be made
  std::vector<Double> doubles;
};

struct ClusterDecision {
  ClusterDecision() = default;
  ClusterDecision(ClusterDecision&&) = default;
  ClusterDecision& operator=(ClusterDecision&&) = default;

  bool drivers_on = false;  // NVIDIADrivers count
  bool node_features = false;
  ToolkitState toolkit;
  std::string runtime;                             // for operands that don't detect a node's
  std::vector<std::string> monitors_that_cant_be;  // as in desired/monitoring.h
  // By operand: why nodes have no driver.
  std::map<policy::OperandId, std::vector<std::string>> left_out;
  DriverPlan drivers;
  upgrade::Policies upgrades;
  LabelRules rules;
  const std::vector<DesiredOperand>* operands = nullptr;  // of the cache
  DesiredObjects desired;
};

// The policy with a toleration of the start-up taint; `taint`: its key, empty: none.
policy::ClusterPolicy WithStartupTaint(policy::ClusterPolicy policy, const std::string& taint);

// Why NVIDIADrivers don't count; empty: they do. `owner` null: no policy.
std::string DriversOff(const Json& owner, const policy::ClusterPolicy& policy);

ClusterDecision DecideCluster(const ClusterInput& input, OperandCache& operands);

// The cluster after a decision was applied, or held back.
struct ClusterResult {
  const std::map<std::string, DaemonSetFacts>& daemon_sets;  // by name
  const ClusterFacts& cluster;                               // see Describable
  std::string write_error;                                   // empty: all could be written
  bool held = false;                                         // objects wait for the nodes' labels
  const upgrade::UpgradeStatus& upgrades;
  bool undescribed_awaited = false;
  std::vector<std::string> outdated_definitions;
};

// Without the nodes on which the chart's values let no worker of node feature discovery run.
ClusterFacts Describable(ClusterFacts cluster, const Json& worker_pod,
                         const std::map<std::string, DaemonSetFacts>& daemon_sets);

// The input for the first owner's verdict. The decision and the result outlive it.
VerdictInput VerdictInputOf(const ClusterInput& input, const ClusterDecision& decision,
                            const ClusterResult& result);

}  // namespace gantry::gpu_operator
