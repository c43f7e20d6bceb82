// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "policy/cluster_policy.h"

namespace gantry::policy {

// The nodes of a NVIDIADriver.
struct DriverSelection {
  bool is_default = false;                   // the nodes that no other one selects
  std::map<std::string, std::string> nodes;  // labels; empty: every node with GPUs
};

// nvidia.com/v1alpha1 NVIDIADriver, spec: the fields that have an effect, with NVIDIA's defaults.
struct NvidiaDriver {
  std::string type = "gpu";                       // gpu, vgpu, vgpu-host-manager
  std::map<std::string, std::string> pod_labels;  // without what the operator sets itself
  std::map<std::string, std::string> pod_annotations;
  Json tolerations;  // with that of nvidia.com/gpu
  std::string priority_class = "system-node-critical";
  Json pod_security_context;  // or null
  OperandSpec driver;
  OperandSpec gds;
  OperandSpec gdrcopy;
  DriverOptions options;  // `crd` is unused here
};

// Whether a node's label can hold its name; one with a longer name gets no node.
bool CanOwnNodes(std::string_view name);

// kInvalid names the field ("spec.nodeSelector: ..."): then its nodes are unknown.
Result<DriverSelection> ParseSelection(const Json& object);
// The upgrade policy for its nodes, whatever else is wrong with it. kInvalid names the field; empty
// if upgrades are disabled.
Result<UpgradePolicy> ParseDriverUpgrade(const Json& object);
// kInvalid names the field, also for fields that exclude each other.
Result<NvidiaDriver> ParseNvidiaDriver(const Json& object);

// Paths below spec of known fields that are set and have no effect ("nodeAffinity"), in order.
std::vector<std::string> UnsupportedDriverFields(const Json& object);

}  // namespace gantry::policy
