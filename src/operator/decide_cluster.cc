// SPDX-License-Identifier: Apache-2.0

// What does a policy request of the cluster, and does the cluster meet it? Joins this folder's
// decisions about drivers, labels, upgrades and operands into one, from one observation.

#include "operator/decide_cluster.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "kube/object.h"
#include "operator/desired/driver_toolkit.h"
#include "operator/desired/monitoring.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

// All of them own the objects: the garbage collector deletes pods within milliseconds after the
// only owner of their DaemonSet is deleted, before it could get another owner.
Json ReferencesTo(const std::vector<Json>& owners) {
  Json references = Json::array();
  for (const Json& owner : owners) {
    references.push_back(kube::OwnerReference(owner, references.empty()));
  }
  return references;
}

DesiredObjects AllOf(const std::vector<Json>& owners, const std::vector<DesiredOperand>& operands,
                     const DriverPlan& drivers) {
  DesiredObjects desired;
  const auto add = [&](const Objects& objects) {
    std::ranges::transform(objects, std::back_inserter(desired.objects),
                           [](const Json& object) { return &object; });
  };
  for (const DesiredOperand& operand : operands) {
    add(operand.objects);
    for (const Json& owner : owners) {
      if (!IsWhole(operand)) {
        desired.incomplete.insert({kube::UidOf(owner), std::string(operand.operand->state)});
      }
    }
  }
  for (const DriverOutcome& driver : drivers.drivers) {
    add(driver.objects);
    if (!IsWhole(driver)) {
      desired.incomplete.insert({driver.uid});
    }
  }
  add(drivers.shared);
  desired.doubles = TakeOutDoubles(desired.objects, desired.incomplete);
  return desired;
}

// Adds it to the NVIDIADrivers that it concerns.
void ReportDoubles(const std::vector<Double>& doubles, DriverPlan& plan) {
  for (const Double& twice : doubles) {
    for (DriverOutcome& driver : plan.drivers) {
      if (twice.owners.contains(driver.uid)) {
        driver.state = "notReady";
        driver.reason = "ReconcileFailed";
        driver.message = twice.message;
      }
    }
  }
}

Json TolerationOf(const std::string& taint) { return {{"key", taint}, {"operator", "Exists"}}; }

// A policy's drivers, by their nodes.
struct DriversByNode {
  DriverDivision own;
  DriverDivision host;  // of virtual GPUs
};

DriversByNode DivideAll(const ClusterInput& input, bool toolkit, const NamedNodes& nodes) {
  const auto divide = [&](const DriverAsk& ask, const std::vector<DriverSetThere>& sets) {
    return policy::Wanted(*ask.operand, input.policy) &&
                   policy::HasImage(*ask.operand, input.policy)
               ? DivideDrivers(ask, nodes, sets)
               : DriverDivision{};
  };
  return {divide(DriverAskOf(input.policy, toolkit), input.seen.driver_sets),
          divide(HostDriverAskOf(input.policy), input.seen.host_driver_sets)};
}

Context ContextOf(const ClusterInput& input, const DriversByNode& division) {
  const ClusterObservation& seen = input.seen;
  return {.policy = input.policy,
          .ns = input.settings.ns,
          .release = input.settings.release,
          .runtime = seen.openshift.present() ? "crio" : RuntimeFor(seen.cluster, seen.runtime),
          .owners = ReferencesTo(input.owners),
          .drivers = division.own.parts,
          .host_drivers = division.host.parts,
          .monitoring = seen.monitoring,
          .openshift = seen.openshift,
          .config_maps = seen.config_maps};
}

LabelRules RulesFor(const ClusterInput& input, const DriversByNode& division,
                    const upgrade::Policies& upgrades,
                    const std::vector<DesiredOperand>& operands) {
  LabelRules rules = RulesOf(input.policy, input.foreign_nfd || !input.settings.master.publish);
  for (const auto& [driver, upgrade] : upgrades) {
    if (!driver.empty()) {
      rules.upgraded_drivers.insert(driver);
    }
  }
  // Existing DaemonSets would delete their pods with the label that they select by.
  rules.driver_systems |= !input.seen.driver_sets.empty() || !input.seen.host_driver_sets.empty();
  rules.open_drivers = division.own.open;
  std::ranges::copy(division.host.open, std::back_inserter(rules.open_drivers));
  const auto runs_ours = [&](policy::OperandId id) {
    return std::ranges::any_of(operands, [id](const DesiredOperand& each) {
      return each.operand->id == id && each.wanted && !each.theirs;
    });
  };
  rules.validated = runs_ours(policy::OperandId::kOperatorValidation);
  rules.mig_states = runs_ours(policy::OperandId::kMigManager);
  rules.gpu_holders = input.policy.gpu_holders;
  return rules;
}

// Whether the workers of node feature discovery should run on some nodes only.
bool ChoosesNodes(const Json& worker_pod) {
  return std::ranges::any_of(
      std::to_array<const char*>({"nodeSelector", "affinity", "tolerations"}),
      [&](const char* key) { return At(worker_pod, key) != nullptr; });
}

}  // namespace

policy::ClusterPolicy WithStartupTaint(policy::ClusterPolicy policy, const std::string& taint) {
  if (!taint.empty()) {
    policy.tolerations.push_back(TolerationOf(taint));
  }
  return policy;
}

std::string DriversOff(const Json& owner, const policy::ClusterPolicy& policy) {
  return owner.is_null() || policy.driver_options.crd
             ? ""
             : format("driver.useNvidiaDriverCRD of {} {} is off", TextAt(owner, "kind"),
                      TextAt(owner, "metadata.name"));
}

ClusterDecision DecideCluster(const ClusterInput& input, OperandCache& operands) {
  const ClusterObservation& seen = input.seen;
  const NamedNodes nodes = seen.named();
  ClusterDecision decision;
  decision.toolkit =
      DecideToolkit(input.policy, seen.openshift, seen.cluster.rhcos, seen.cluster.system_known);
  const DriversByNode division = DivideAll(input, decision.toolkit.enabled == 1, nodes);
  decision.left_out = {{policy::OperandId::kDriver, division.own.left_out},
                       {policy::OperandId::kVgpuManager, division.host.left_out}};
  const Context context = ContextOf(input, division);
  decision.runtime = context.runtime;
  decision.monitors_that_cant_be = MonitorsThatCantBe(context);
  const std::string off =
      DriversOff(input.owners.empty() ? Json() : input.owners.front(), input.policy);
  decision.drivers_on = off.empty();
  const std::string& taint = input.settings.startup_taint;
  decision.drivers = PlanDrivers(
      {.objects = input.drivers,
       .off = off,
       .selections = seen.selections,
       .nodes = nodes,
       .tolerations = taint.empty() ? Json::array() : Json::array({TolerationOf(taint)})},
      context);
  decision.upgrades = UpgradesOf(input.policy, decision.drivers);
  decision.node_features = input.settings.node_features && !input.foreign_nfd;
  decision.operands = &operands.OperandsFor(context, decision.node_features);
  decision.rules = RulesFor(input, division, decision.upgrades, *decision.operands);
  decision.desired = AllOf(input.owners, *decision.operands, decision.drivers);
  ReportDoubles(decision.desired.doubles, decision.drivers);
  return decision;
}

ClusterFacts Describable(ClusterFacts cluster, const Json& worker_pod,
                         const std::map<std::string, DaemonSetFacts>& daemon_sets) {
  const auto workers =
      daemon_sets.find(std::string(policy::OperandOf(policy::OperandId::kNodeFeatures).daemon_set));
  if (ChoosesNodes(worker_pod) && workers != daemon_sets.end() &&
      cluster.described >= workers->second.desired) {
    cluster.undescribed.clear();
  }
  return cluster;
}

VerdictInput VerdictInputOf(const ClusterInput& input, const ClusterDecision& decision,
                            const ClusterResult& result) {
  const Json& owner = input.owners.front();
  VerdictInput judged;
  judged.left_out = decision.left_out;
  if (input.policy.dra_driver.enabled) {
    judged.kind = TextAt(owner, "kind");
  }
  judged.other_runtimes = OtherRuntimes(result.cluster, decision.runtime);
  judged.operands = decision.operands;
  judged.daemon_sets = &result.daemon_sets;
  judged.cluster = &result.cluster;
  judged.undescribed_awaited = result.undescribed_awaited;
  judged.outdated_definitions = result.outdated_definitions;
  judged.values_not_known = input.settings.values_not_known;
  judged.values_not_followed = input.settings.values_not_followed;
  judged.unsupported_fields = policy::UnsupportedFields(input.asked.policy);
  judged.overridden_fields = input.asked.overridden;
  judged.fields_in_vain = input.asked.in_vain;
  judged.monitors_that_cant_be = decision.monitors_that_cant_be;
  judged.ns = input.settings.ns;
  judged.kubelet_root = input.policy.kubelet_root;
  judged.node_features_ours = decision.node_features;
  judged.labelling = result.held;
  judged.driver_upgrades = result.upgrades.status;
  if (const Json* known = At(owner, "status.driverUpgrades");
      known != nullptr && !decision.upgrades.empty() && !result.upgrades.on) {
    judged.driver_upgrades = *known;  // this process has not observed them yet
  }
  judged.driver_upgrades_summary = result.upgrades.summary;
  judged.drivers_unfinished = input.policy.driver_options.crd && result.upgrades.unfinished;
  if (input.seen.missing_config_maps.contains(input.policy.config_name)) {
    judged.missing_config = input.policy.config_name;
  }
  judged.write_error = result.write_error;
  for (const Double& twice : decision.desired.doubles) {
    if (judged.write_error.empty() && twice.owners.contains(kube::UidOf(owner))) {
      judged.write_error = twice.message;
    }
  }
  return judged;
}

}  // namespace gantry::gpu_operator
