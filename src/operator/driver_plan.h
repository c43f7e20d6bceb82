// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/cluster_facts.h"
#include "operator/desired/context.h"
#include "operator/driver_owners.h"
#include "operator/plan.h"
#include "operator/upgrade/roll_out.h"

namespace gantry::gpu_operator {

// The result for one NVIDIADriver.
struct DriverOutcome {
  std::string name;
  std::string uid;
  Objects objects;
  bool stays = false;  // its existing objects are kept unchanged
  std::string state;   // set if the objects don't decide it: disabled, notReady
  std::string reason;  // NVIDIA's, with that state
  std::string message;
  // Nodes that should have its pod, and those of them without a taint against it.
  int labelled = 0;
  int expected = 0;
  std::vector<std::string> silent;       // its nodes without labels of their system
  std::vector<std::string> unmarked;     // nodes that it selects and that are not labelled yet
  std::vector<std::string> untolerated;  // its nodes with a taint against it
  std::string partly;                    // fields of its spec without effect
  // How its nodes' drivers are upgraded, if at all; an error: unknown.
  Result<policy::UpgradePolicy> upgrade = policy::UpgradePolicy();
};

// Whether its objects are complete: not while some of its nodes have no labels of their system.
bool IsWhole(const DriverOutcome& driver);

// The result for all of them.
struct DriverPlan {
  DriverOwners owners;
  std::vector<DriverOutcome> drivers;  // as they came
  Objects shared;
};

struct DriversAsked {
  std::vector<Json> objects;  // NVIDIADrivers, by name, none that is being deleted
  std::string off;            // why they don't count; empty: they count
  // By label selector, the nodes that it matches; an absent one is not known yet.
  std::map<std::string, std::set<std::string>> selections;
  NamedNodes nodes;
  Json tolerations = Json::array();  // of all operands, in addition
};

// The context's policy has the host's settings; its ConfigMaps are those of NamedConfigMaps.
DriverPlan PlanDrivers(const DriversAsked& asked, const Context& context);

// The upgrade policies, by NVIDIADriver; the empty name is the ClusterPolicy's.
upgrade::Policies UpgradesOf(const policy::ClusterPolicy& policy, const DriverPlan& drivers);

// Whether a driver can't be judged before the nodes are labelled, for which `held` waits: some of
// its objects are in `held`, or it has no nodes yet. Another driver's objects do not count.
bool WaitsForLabels(const DriverOutcome& driver, const Plan& held);

// The label selectors whose nodes must be known ("a=b,c=d").
std::set<std::string> SelectorsOf(const std::vector<Json>& drivers);
std::set<std::string> NamedConfigMaps(const std::vector<Json>& drivers);

// Moves drivers from a ClusterPolicy to NVIDIADrivers (`on`), or back: the DaemonSets' pods stay
// until each node is upgraded, and so do the objects that these pods use. `observed` are the stored
// objects, `live` the uids of the existing NVIDIADrivers.
void HandOver(bool on, const std::map<ObjectKey, Json>& observed, const std::set<std::string>& live,
              Plan& plan);

}  // namespace gantry::gpu_operator
