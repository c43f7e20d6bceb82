// SPDX-License-Identifier: Apache-2.0

// What is there already of that which depends on what nodes run? What is there keeps its name, its
// system and its runtime, whichever nodes come.

#include "operator/drivers_there.h"

#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

std::vector<DriverSetThere> SetsNamed(const std::string& name, const View& view,
                                      const Applier& applier, const std::string& space) {
  std::vector<ObjectKey> keys;
  for (const auto& [set, facts] : view.DaemonSets()) {
    if (set.starts_with(name)) {
      keys.push_back({"DaemonSet", space, set});
    }
  }
  std::vector<DriverSetThere> there;
  for (const auto& [key, set] : applier.Owned(keys)) {
    there.push_back(DriverSetThereOf(set));
  }
  return there;
}

}  // namespace

DriversByNode LookAtDrivers(const View& view, const Applier& applier, const std::string& space,
                            const policy::ClusterPolicy& policy, bool toolkit,
                            const NamedNodes& nodes) {
  DriversByNode drivers;
  const auto look = [&](const DriverAsk& ask, DriverDivision& division) {
    const std::vector<DriverSetThere> there = SetsNamed(ask.set, view, applier, space);
    drivers.any_there |= !there.empty();
    if (policy::Wanted(*ask.operand, policy) && policy::HasImage(*ask.operand, policy)) {
      division = DivideDrivers(ask, nodes, there);
    }
  };
  look(DriverAskOf(policy, toolkit), drivers.own);
  look(HostDriverAskOf(policy), drivers.host);
  return drivers;
}

std::string RuntimeThere(const Applier& applier, const std::string& space) {
  const std::string name(policy::OperandOf(policy::OperandId::kContainerToolkit).daemon_set);
  for (const auto& [key, set] : applier.Owned({{"DaemonSet", space, name}})) {
    for (const Json& container : ListAt(set, "spec.template.spec.containers")) {
      for (const Json& variable : ListAt(container, "env")) {
        if (TextAt(variable, "name") == "RUNTIME") {
          return TextAt(variable, "value");
        }
      }
    }
  }
  return "";
}

}  // namespace gantry::gpu_operator
