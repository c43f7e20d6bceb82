// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "operator/monitoring_kinds.h"
#include "operator/openshift.h"
#include "operator/release.h"
#include "operator/system_facts.h"
#include "policy/cluster_policy.h"

namespace gantry::gpu_operator {

// The input for the objects of an operand.
struct Context {
  policy::ClusterPolicy policy;
  std::string ns;  // the operator's namespace, in which all operands run
  Release release = {};
  std::string runtime = "containerd";
  Json owners = Json::array();    // ownerReferences to the policies that count
  SystemFacts system = {};        // of the driver's DaemonSet being made
  DriverParts drivers = {};       // DaemonSets of the policy's driver
  DriverParts host_drivers = {};  // the same of its vGPU manager
  std::string state = {};         // of names::kOperandState on every object; empty: none
  MonitoringKinds monitoring = {};
  OpenShift openshift = {};
  // Keys of the existing ConfigMaps that the policy names, in the operator's namespace.
  std::map<std::string, std::vector<std::string>> config_maps = {};
  bool operator==(const Context&) const = default;
};

using Objects = std::vector<Json>;

}  // namespace gantry::gpu_operator
