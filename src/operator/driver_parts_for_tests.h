// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "operator/desired/context.h"
#include "operator/desired/driver_toolkit.h"
#include "operator/driver_division.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

// A node that needs a driver for containers and for virtual machines.
inline NodeFacts DriverNode(const SystemFacts& system, const std::string& kernel,
                            const std::string& rhcos) {
  Labels labels = {{names::kGpuPresent, "true"},
                   {names::kSystemId, system.id},
                   {names::kDriverSystem, system.tag}};
  for (const char* deploy : {"driver", "vgpu-manager"}) {
    labels.emplace(std::string(names::kDeployPrefix) + deploy, "true");
  }
  if (!kernel.empty()) {
    labels.emplace(names::kKernelVersion, kernel);
  }
  if (!rhcos.empty()) {
    labels.emplace(names::kRhcosVersion, rhcos);
  }
  NodeFacts node;
  node.labels = PackLabels(labels);
  return node;
}

// Sets the driver parts of the context's policy for nodes of one system: one node for each of its
// kernels, or of its versions of RHCOS.
inline void DivideOn(const SystemFacts& system, Context& context) {
  if (system.tag.empty()) {
    return;
  }
  std::vector<NodeFacts> nodes;
  for (const std::string& kernel : system.kernels) {
    nodes.push_back(DriverNode(system, kernel, ""));
  }
  for (const std::string& rhcos : system.rhcos) {
    nodes.push_back(DriverNode(system, "", rhcos));
  }
  if (nodes.empty()) {
    nodes.push_back(DriverNode(system, "", ""));
  }
  NamedNodes named;
  for (const NodeFacts& node : nodes) {
    named.emplace_back(format("n{}", named.size()), &node);
  }
  const bool toolkit =
      DecideToolkit(context.policy, context.openshift, system.rhcos, true).enabled == 1;
  context.drivers = DivideDrivers(DriverAskOf(context.policy, toolkit), named, {}).parts;
  context.host_drivers = DivideDrivers(HostDriverAskOf(context.policy), named, {}).parts;
}

}  // namespace gantry::gpu_operator
