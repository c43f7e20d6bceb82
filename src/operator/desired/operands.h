// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "operator/desired/context.h"
#include "policy/image.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {

// The result for one operand.
struct DesiredOperand {
  const policy::Operand* operand = nullptr;
  bool wanted = false;
  bool available = false;     // part of this release, and the policy has everything it needs
  policy::ImageChoice image;  // empty for operands without a DaemonSet
  bool theirs = false;        // NVIDIA's image, although this release has the operand
  Objects objects;            // none unless wanted and available
  std::string mistake;        // why its objects can't be made; existing ones stay
  bool partly = false;        // nodes are left out; their existing objects stay
};
// Whether its objects are complete. Not with a mistake, and not while no node has labels of its
// system: then existing objects stay, too.
bool IsWhole(const DesiredOperand& operand);

// The ConfigMaps that the policy names whose existence or keys matter to the objects.
std::set<std::string> NamedConfigMaps(const policy::ClusterPolicy& policy);

// All operands in order. `node_features`: whether Gantry's runs (no other node feature discovery).
std::vector<DesiredOperand> DesiredOperands(const Context& context, bool node_features);

}  // namespace gantry::gpu_operator
