// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "policy/cluster_policy.h"

namespace gantry::policy {

// Which nodes a NVIDIADriver is for.
struct DriverSelection {
  bool is_default = false;                   // those that no other one selects
  std::map<std::string, std::string> nodes;  // labels; empty: every node with GPUs
};

// nvidia.com/v1alpha1 NVIDIADriver, spec: what is acted on, with NVIDIA's defaults filled in.
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
  DriverOptions options;  // its switch `crd` says nothing here
};

// Whether a node's label can name it; one with a longer name gets no node.
bool CanOwnNodes(std::string_view name);

// kInvalid names the field ("spec.nodeSelector: ..."): then nobody knows which nodes it is for.
Result<DriverSelection> ParseSelection(const Json& object);
// How the drivers of its nodes are upgraded, whatever else is wrong with it. kInvalid names the
// field; none if it says that they are not.
Result<UpgradePolicy> ParseDriverUpgrade(const Json& object);
// kInvalid names the field, also of what can't be together.
Result<NvidiaDriver> ParseNvidiaDriver(const Json& object);

// Paths below spec that are set, known, and not acted on ("nodeAffinity"), in order.
std::vector<std::string> UnsupportedDriverFields(const Json& object);

}  // namespace gantry::policy
