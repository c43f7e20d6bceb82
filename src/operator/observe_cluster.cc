// SPDX-License-Identifier: Apache-2.0

// What is the present state of the cluster? Everything that a pass of the policy's controller
// needs, read once from the view.

#include "operator/observe_cluster.h"

#include "operator/apply.h"
#include "operator/desired/operands.h"
#include "operator/driver_plan.h"
#include "operator/view.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

// The prefix of DaemonSet names.
std::vector<DriverSetThere> SetsNamed(const std::string& name,
                                      const std::map<std::string, DaemonSetFacts>& daemon_sets,
                                      const Applier& applier, const std::string& ns) {
  std::vector<ObjectKey> keys;
  for (const auto& [set, facts] : daemon_sets) {
    if (set.starts_with(name)) {
      keys.push_back({"DaemonSet", ns, set});
    }
  }
  std::vector<DriverSetThere> sets;
  for (const auto& [key, set] : applier.Owned(keys)) {
    sets.push_back(DriverSetThereOf(set));
  }
  return sets;
}

std::string ToolkitsRuntime(const Applier& applier, const std::string& ns) {
  const std::string name(policy::OperandOf(policy::OperandId::kContainerToolkit).daemon_set);
  for (const auto& [key, set] : applier.Owned({{"DaemonSet", ns, name}})) {
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

}  // namespace

NamedNodes ClusterObservation::named() const {
  NamedNodes named;
  for (const auto& [name, facts] : nodes) {
    named.emplace_back(name, facts.get());
  }
  return named;
}

ClusterObservation ObserveCluster(View& view, const Applier& applier, const std::string& ns,
                                  const policy::ClusterPolicy& policy,
                                  const std::vector<Json>& drivers) {
  ClusterObservation seen;
  seen.nodes = view.Nodes();
  if (policy.dra_driver.enabled) {
    seen.claims = view.LookAtClaims();
  }
  seen.cluster = Summarize(
      seen.named(), policy.tolerations,
      [&view](const std::string& object) { return view.BrokenOf(object); }, seen.claims.nodes);
  seen.foreign_features = view.ForeignFeatures();
  std::set<std::string> map_names = NamedConfigMaps(policy);
  map_names.merge(NamedConfigMaps(drivers));
  View::ConfigMaps config_maps = view.LookAtConfigMaps(map_names);
  seen.config_maps = std::move(config_maps.keys);
  seen.missing_config_maps = std::move(config_maps.missing);
  seen.openshift = view.LookAtOpenShift();
  seen.monitoring = view.LookAtMonitoring();
  seen.selections = view.LookAtSelections(SelectorsOf(drivers));
  const std::map<std::string, DaemonSetFacts> daemon_sets = view.DaemonSets();
  seen.driver_sets = SetsNamed(DriverAskOf(policy, false).set, daemon_sets, applier, ns);
  seen.host_driver_sets = SetsNamed(HostDriverAskOf(policy).set, daemon_sets, applier, ns);
  seen.runtime = ToolkitsRuntime(applier, ns);
  return seen;
}

}  // namespace gantry::gpu_operator
