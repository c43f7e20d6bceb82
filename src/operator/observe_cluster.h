// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "operator/claim_facts.h"
#include "operator/cluster_facts.h"
#include "operator/driver_division.h"
#include "operator/monitoring_kinds.h"
#include "operator/openshift.h"
#include "policy/cluster_policy.h"

namespace gantry::gpu_operator {

class Applier;
class View;

// The observation of one pass.
struct ClusterObservation {
  std::vector<std::pair<std::string, std::shared_ptr<const NodeFacts>>> nodes;  // by name
  ClusterFacts cluster;
  bool foreign_features = false;  // another node feature discovery's workers describe nodes
  OpenShift openshift;
  MonitoringKinds monitoring;
  ClaimFacts claims;  // known if the policy has the DRA driver
  // ConfigMaps that the policy and NVIDIADrivers name: the keys of existing ones, and the missing
  // ones. In neither: not known yet.
  std::map<std::string, std::vector<std::string>> config_maps;
  std::set<std::string> missing_config_maps;
  // By label selector of an NVIDIADriver, the nodes that it matches; an absent one is not known
  // yet.
  std::map<std::string, std::set<std::string>> selections;
  // The DaemonSets of the policy's driver, and of its vGPU manager.
  std::vector<DriverSetThere> driver_sets;
  std::vector<DriverSetThere> host_driver_sets;
  // The container runtime of the toolkit's DaemonSet; empty: none.
  std::string runtime;

  // Valid as long as this object.
  [[nodiscard]] NamedNodes named() const;
};

// `drivers` are the NVIDIADrivers that count. From the first call on the view watches the objects
// that they and the policy name, as long as they name them. Does not block.
ClusterObservation ObserveCluster(View& view, const Applier& applier, const std::string& ns,
                                  const policy::ClusterPolicy& policy,
                                  const std::vector<Json>& drivers);

}  // namespace gantry::gpu_operator
