// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "operator/desired/context.h"
#include "policy/image.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {

// What one operand comes to.
struct DesiredOperand {
  const policy::Operand* operand = nullptr;
  bool wanted = false;
  bool available = false;     // part of this release, and the policy has what it needs to run
  policy::ImageChoice image;  // empty for operands without a DaemonSet
  bool theirs = false;        // it is NVIDIA's, where this release has one too
  Objects objects;            // none unless wanted and available
  std::string mistake;        // why its objects can't be made; what is there of them stays
  bool partly = false;        // nodes are left out; what is there for them stays
};
// Whether its objects are all that there are to be. Not with a mistake, and not while no node says
// which system its DaemonSet is to be made for: then what is there of it stays, too.
bool IsWhole(const DesiredOperand& operand);

// The ConfigMaps that the policy names and whose being there, or keys, matter to the objects.
std::set<std::string> NamedConfigMaps(const policy::ClusterPolicy& policy);

// All operands in order. `node_features`: whether ours is to run (no other node feature discovery).
std::vector<DesiredOperand> DesiredOperands(const Context& context, bool node_features);

}  // namespace gantry::gpu_operator
