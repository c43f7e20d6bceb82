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

// What one NVIDIADriver comes to.
struct DriverOutcome {
  std::string name;
  std::string uid;
  Objects objects;
  bool stays = false;  // what there is of its objects is left as it is
  std::string state;   // set where the objects don't decide it: disabled, notReady
  std::string reason;  // NVIDIA's, with that state
  std::string message;
  // Nodes that are to have its pod, and those of them that no taint keeps it off.
  int labelled = 0;
  int expected = 0;
  std::vector<std::string> silent;       // of its nodes, those that don't say which system they run
  std::vector<std::string> unmarked;     // nodes that are to be its own and are not yet
  std::vector<std::string> untolerated;  // of its nodes, those that a taint keeps it off
  std::string partly;                    // fields of its spec that are not acted on
  // How its nodes' drivers are upgraded, if at all; an error: nobody knows.
  Result<policy::UpgradePolicy> upgrade = policy::UpgradePolicy();
};

// Whether its objects are all that there are to be: not while some of its nodes don't say for which
// system they are to be made.
bool IsWhole(const DriverOutcome& driver);

// What all of them come to.
struct DriverPlan {
  DriverOwners owners;
  std::vector<DriverOutcome> drivers;  // as they came
  Objects shared;
};

struct DriversAsked {
  std::vector<Json> objects;  // NVIDIADrivers, by name, none that is being deleted
  std::string off;            // why they don't count; empty: they do
  // By label selector, the nodes that it takes; what is not there is not known yet.
  std::map<std::string, std::set<std::string>> selections;
  NamedNodes nodes;
  Json tolerations = Json::array();  // of all operands, besides
};

// The context's policy says what hosts are like; its ConfigMaps are those of NamedConfigMaps.
DriverPlan PlanDrivers(const DriversAsked& asked, const Context& context);

// How the nodes' drivers are upgraded, by the NVIDIADriver that they belong to; with an empty name
// those of the ClusterPolicy.
upgrade::Policies UpgradesOf(const policy::ClusterPolicy& policy, const DriverPlan& drivers);

// Whether a driver can't be judged before the nodes are labelled, for which `held` waits: some of
// it is in there, or it has no nodes yet. What waits for others' sake is none of its own.
bool WaitsForLabels(const DriverOutcome& driver, const Plan& held);

// The label selectors of which the nodes must be known ("a=b,c=d").
std::set<std::string> SelectorsOf(const std::vector<Json>& drivers);
std::set<std::string> NamedConfigMaps(const std::vector<Json>& drivers);

// Drivers that go from a ClusterPolicy to NVIDIADrivers (`on`), or back: the DaemonSets' pods stay
// until each node is upgraded, and so does what these pods use. `observed` are the objects as they
// are, `live` the uids of the NVIDIADrivers that are there.
void HandOver(bool on, const std::map<ObjectKey, Json>& observed, const std::set<std::string>& live,
              Plan& plan);

}  // namespace gantry::gpu_operator
