// SPDX-License-Identifier: Apache-2.0

// Does the cluster meet the ClusterPolicy? Decided by the DaemonSets' numbers and the nodes.
// Installations wait for "ready", so it must not be set before it is true: a DaemonSet that its
// controller has not reconciled has 0 pods desired and 0 unavailable, undescribed nodes may have
// GPUs, and a node whose plugin runs but whose kubelet offers no GPU has none. Reasons and the pair
// of conditions are NVIDIA's.

#include "operator/verdict.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "operator/some_names.h"
#include "policy/names.h"
#include "policy/operands.h"
#include "policy/reasons.h"

namespace gantry::gpu_operator {
namespace {

using policy::OperandId;

void NotReady(OperandState& state, std::string_view reason, std::string message) {
  state.state = "notReady";
  state.reason = reason;
  state.message = std::move(message);
}

int Count(const std::map<std::string, int, std::less<>>& nodes, std::string_view deploy) {
  const auto found = nodes.find(deploy);
  return found == nodes.end() ? 0 : found->second;
}

// "; nodes not Ready: a, b", or nothing.
std::string Away(const ClusterFacts& cluster) {
  return cluster.gpu_not_ready.empty()
             ? ""
             : format("; nodes not Ready: {}", SomeNames(cluster.gpu_not_ready));
}

std::vector<std::string> DaemonSetsOf(const Objects& objects) {
  std::vector<std::string> names;
  for (const Json& object : objects) {
    if (TextAt(object, "kind") == "DaemonSet") {
      names.push_back(TextAt(object, "metadata.name"));
    }
  }
  return names;
}

// The sum of all its DaemonSets' numbers, or nothing, with the reason in the state.
std::optional<DaemonSetFacts> SumUp(const std::vector<std::string>& names,
                                    const std::map<std::string, DaemonSetFacts>& sets,
                                    OperandState& state) {
  DaemonSetFacts sum;
  for (const std::string& name : names) {
    const auto found = sets.find(name);
    if (found == sets.end()) {
      NotReady(state, "DaemonSetMissing", format("DaemonSet {} is not there yet", name));
      return std::nullopt;
    }
    const DaemonSetFacts& set = found->second;
    if (set.observed_generation < set.generation) {
      NotReady(state, "DaemonSetNotObserved", format("DaemonSet {} was changed just now", name));
      return std::nullopt;
    }
    sum.desired += set.desired;
    sum.updated += set.updated;
    sum.available += set.available;
    sum.unavailable += set.unavailable;
    sum.on_delete = set.on_delete;
  }
  return sum;
}

// Whether the operator itself deletes the operand's pods of an older template.
bool IsUpgraded(const DesiredOperand& operand, const VerdictInput& input) {
  return operand.operand->id == OperandId::kDriver && !input.driver_upgrades.is_null();
}

// How many nodes should have a pod of some DaemonSets.
struct PodsWanted {
  int labelled = 0;
  int expected = 0;         // those without a taint against it
  bool exchanged = false;   // the operator itself deletes pods of an older template
  std::string remark = {};  // another possible reason
};

void JudgeNumbers(const DaemonSetFacts& sum, const std::string& name, const PodsWanted& wanted,
                  OperandState& state) {
  // With no node left to run on, nothing is unavailable, but nothing works.
  if (sum.desired < wanted.expected || (sum.desired == 0 && wanted.labelled > 0)) {
    NotReady(state, "PodsMissing",
             format("{} of {} nodes have a pod of {}{}", sum.desired, wanted.labelled, name,
                    wanted.remark));
    return;
  }
  if (sum.available < sum.desired || sum.unavailable > 0) {
    NotReady(state, "PodsNotAvailable",
             format("{} of {} pods of {} are available{}", sum.available, sum.desired, name,
                    wanted.remark));
    return;
  }
  if (sum.updated < sum.desired) {
    NotReady(
        state, sum.on_delete ? "UpdateWaits" : "UpdateInProgress",
        format("{} of {} pods of {} are updated{}", sum.updated, sum.desired, name,
               sum.on_delete && !wanted.exchanged ? "; delete the others, one by one (OnDelete)"
                                                  : ""));
  }
}

// A pod that mounts a folder below the user's root does not start if that does not exist.
std::string BelowRoot(const DesiredOperand& operand, const VerdictInput& input) {
  const OperandId id = operand.operand->id;
  const bool mounts = id == OperandId::kOperatorValidation || id == OperandId::kDcgmExporter ||
                      id == OperandId::kMigManager || id == OperandId::kDraDriver;
  return mounts && input.kubelet_root != names::kKubeletRoot
             ? format(
                   "; they need {}/pod-resources on the nodes: is hostPaths.kubeletRootDir the "
                   "kubelets' --root-dir?",
                   input.kubelet_root)
             : "";
}

void JudgeDaemonSets(const DesiredOperand& operand, const VerdictInput& input,
                     OperandState& state) {
  const std::vector<std::string> names = DaemonSetsOf(operand.objects);
  const std::string name =
      names.empty() ? std::string(operand.operand->daemon_set) : Join(names, ", ");
  const std::optional<DaemonSetFacts> sum = SumUp(names, *input.daemon_sets, state);
  if (!sum.has_value()) {
    return;
  }
  if (const auto left_out = input.left_out.find(operand.operand->id);
      left_out != input.left_out.end() && !names.empty() && !left_out->second.empty()) {
    NotReady(state, "SystemNotServed",
             format("nodes without a driver: {}", Join(left_out->second, "; ")));
    return;
  }
  if (operand.operand->id == OperandId::kContainerToolkit && operand.theirs &&
      !input.other_runtimes.empty()) {
    NotReady(state, "RuntimeNotServed",
             format("NVIDIA's toolkit is set up for one container runtime, and these nodes have "
                    "another: {}; leave toolkit.repository, image and version out, this release's "
                    "toolkit finds each node's runtime",
                    SomeNames(input.other_runtimes)));
    return;
  }
  const PodsWanted wanted{.labelled = Count(input.cluster->labelled, operand.operand->deploy),
                          .expected = Count(input.cluster->expected, operand.operand->deploy),
                          .exchanged = IsUpgraded(operand, input),
                          .remark = Away(*input.cluster) + BelowRoot(operand, input)};
  if (!names.empty()) {
    JudgeNumbers(*sum, name, wanted, state);
  } else if (wanted.labelled > 0) {
    NotReady(state, "SystemUnknown",
             format("no GPU node says which system it runs, so DaemonSet {} is not made", name));
  }
}

// Facts that the operand's ready pods alone do not show.
void JudgeEffect(const DesiredOperand& operand, const VerdictInput& input, OperandState& state) {
  const ClusterFacts& cluster = *input.cluster;
  const OperandId id = operand.operand->id;
  if (id == OperandId::kNodeFeatures && !cluster.undescribed.empty()) {
    NotReady(state, "NodesNotDescribed",
             format("no features are known of {}", SomeNames(cluster.undescribed)));
  }
  if (id == OperandId::kOperatorValidation && !operand.theirs && !cluster.not_validated.empty()) {
    NotReady(state, "ValidationFailed",
             format("the validator found broken: {}; kubectl describe node says what to do",
                    SomeNames(cluster.not_validated)));
  }
  if (id == OperandId::kSandboxValidation && !operand.theirs &&
      !cluster.vms_not_validated.empty()) {
    NotReady(state, "ValidationFailed",
             format("not ready for virtual machines: {}; kubectl describe node says what to do",
                    SomeNames(cluster.vms_not_validated)));
  }
  if (id == OperandId::kMigManager && !operand.theirs && !cluster.mig_failed.empty()) {
    NotReady(state, "MigChangeFailed",
             format("not divided as their label {} asks: {}", names::kMigConfig,
                    SomeNames(cluster.mig_failed)));
  }
  if (id == OperandId::kMigManager && !operand.theirs && cluster.mig_failed.empty() &&
      !cluster.mig_waits.empty()) {
    NotReady(state, "MigChangeWaits",
             format("wait to be divided as their label {} asks: {}", names::kMigConfig,
                    SomeNames(cluster.mig_waits)));
  }
  if (id == OperandId::kDraDriver && !cluster.gpu_without_device.empty()) {
    NotReady(state, "NoDevicesOffered",
             format("no ResourceSlice has a device of {}; kubectl describe node says which devices "
                    "are left out and why, the log of the DRA driver there says more",
                    SomeNames(cluster.gpu_without_device)));
  }
  if (id != OperandId::kDevicePlugin) {
    return;
  }
  if (!input.missing_config.empty()) {
    NotReady(state, "ConfigMapNotFound",
             format("ConfigMap {} of devicePlugin.config.name does not exist in namespace {}; "
                    "create it",
                    input.missing_config, input.ns));
  } else if (!cluster.gpu_without_resource.empty()) {
    NotReady(
        state, "NoGPUsOffered",
        format("no GPUs are offered by {}; see the logs of the validator and the device plugin "
               "there, or run: gantry doctor",
               SomeNames(cluster.gpu_without_resource)));
  }
}

// The additional message on an operand that can't run.
std::string_view AlsoOf(OperandId id) {
  return id == OperandId::kDriver ? "; drivers that the nodes bring are used, and a driver's "
                                    "DaemonSet that is there stays"
         : id == OperandId::kVgpuDeviceManager
             ? ", and config.name to a ConfigMap with a table of vGPU types"
             : "";
}

// Whether NVIDIA's image that runs stays, although Helm values name none.
bool IsKeptAtChangeOver(OperandId id) {
  return id == OperandId::kDcgmExporter || id == OperandId::kMigManager ||
         id == OperandId::kVfioManager || id == OperandId::kSandboxDevicePlugin;
}

OperandState JudgeOperand(const DesiredOperand& operand, const VerdictInput& input) {
  OperandState state;
  state.name = operand.operand->state;
  if (!operand.wanted) {
    state.state = "disabled";
    return state;
  }
  if (!operand.available && operand.operand->runs == policy::Runs::kSpare) {
    state.state = "ready";
    state.reason = "NotNeeded";
    state.message = format(
        "no pods: this release's exporter reads the driver itself; NVIDIA's {} runs if "
        "spec.{}.repository, image and version name it",
        operand.operand->section, operand.operand->section);
    return state;
  }
  if (!operand.available) {
    state.state = "unsupported";
    state.reason = "NotAvailable";
    state.message =
        operand.operand->section.empty()
            ? "not part of this release"
            : format("runs from NVIDIA's image only: set spec.{}.repository, image and version{}",
                     operand.operand->section, AlsoOf(operand.operand->id));
    return state;
  }
  state.state = "ready";
  state.image = operand.image.image;
  if (operand.image.version_ignored) {
    state.reason = "VersionNotUsed";
    state.message =
        format("spec.{}.version is set without repository and image: this release's image is used",
               operand.operand->section);
  }
  if (operand.theirs && IsKeptAtChangeOver(operand.operand->id)) {
    state.reason = "NvidiasImage";
    state.message = format(
        "NVIDIA's image runs; this release's own runs if spec.{0} names no repository, image and "
        "version (Helm: {0}.image=gantry)",
        operand.operand->section);
  }
  if (!operand.mistake.empty()) {
    NotReady(state, "InvalidSpec", operand.mistake);
  } else if (!operand.operand->daemon_set.empty()) {
    JudgeDaemonSets(operand, input, state);
    if (state.state == "ready") {
      JudgeEffect(operand, input, state);
    } else if (IsUpgraded(operand, input) && !input.driver_upgrades_summary.empty()) {
      state.message += "; " + input.driver_upgrades_summary;
    }
  }
  return state;
}

// Whether missing workers of node feature discovery may be those of GPU nodes: more are missing
// than there are nodes without a GPU. Only their number is known, not their nodes.
bool MissesWorkersOfGpus(std::string_view daemon_set, const VerdictInput& input) {
  const auto set = input.daemon_sets->find(std::string(daemon_set));
  return set == input.daemon_sets->end() || set->second.desired - set->second.available >
                                                input.cluster->nodes - input.cluster->gpu_nodes;
}

// A worker that never runs on a node without a GPU (a virtual one) does not prevent ready.
bool IsWaitedFor(const policy::Operand& operand, const OperandState& state,
                 const VerdictInput& input) {
  if (operand.id != OperandId::kNodeFeatures || input.undescribed_awaited) {
    return true;
  }
  if (state.reason == "PodsMissing" || state.reason == "PodsNotAvailable") {
    return MissesWorkersOfGpus(operand.daemon_set, input);
  }
  return state.reason != "NodesNotDescribed";
}

std::string NotFollowed(const VerdictInput& input, const std::vector<OperandState>& operands) {
  std::vector<std::string> parts;
  std::vector<std::string> missing;
  std::vector<std::string> versions;
  std::vector<std::string> mistaken;
  for (const OperandState& state : operands) {
    if (state.state == "unsupported") {
      missing.push_back(state.name);
    }
  }
  for (const DesiredOperand& operand : *input.operands) {
    if (operand.wanted && operand.image.version_ignored) {
      versions.push_back(format("{}.version", operand.operand->section));
    }
    if (!operand.mistake.empty()) {
      mistaken.emplace_back(operand.operand->state);
    }
  }
  if (!mistaken.empty()) {
    parts.push_back("operands with a mistake: " + Join(mistaken, ", "));
  }
  if (!missing.empty()) {
    parts.push_back("operands without an image: " + Join(missing, ", "));
  }
  if (!versions.empty()) {
    parts.push_back(
        "versions without repository and image, for which this release's image is used: " +
        Join(versions, ", "));
  }
  if (!input.monitors_that_cant_be.empty()) {
    parts.push_back("requested without a Prometheus operator (monitoring.coreos.com/v1): " +
                    Join(input.monitors_that_cant_be, ", "));
  }
  if (!input.fields_in_vain.empty()) {
    parts.push_back(Join(input.fields_in_vain, ", ") + ": drivers come from NVIDIADrivers");
  }
  std::vector<std::string> fields;
  for (const std::string& field : input.unsupported_fields) {
    if (policy::OperandOfSection(field) == nullptr) {
      fields.push_back(field);
    }
  }
  if (!fields.empty()) {
    parts.push_back("fields without effect: " + Join(fields, ", "));
  }
  if (!input.values_not_known.empty()) {
    parts.push_back("unknown values of the chart: " + Join(input.values_not_known, ", "));
  }
  if (!input.values_not_followed.empty()) {
    parts.push_back("values of the chart without effect: " + Join(input.values_not_followed, ", "));
  }
  return Join(parts, "; ");
}

}  // namespace

Verdict Judge(const VerdictInput& input) {
  Verdict verdict;
  std::vector<std::string> waiting;
  std::vector<std::string> reasons;
  for (const DesiredOperand& operand : *input.operands) {
    OperandState state = JudgeOperand(operand, input);
    if (state.state == "notReady" && IsWaitedFor(*operand.operand, state, input)) {
      waiting.push_back(state.name);
      reasons.push_back(format("{}: {}", state.name, state.message));
    }
    verdict.operands.push_back(std::move(state));
  }
  verdict.partly = NotFollowed(input, verdict.operands);
  const ClusterFacts& cluster = *input.cluster;
  verdict.state = "notReady";
  if (!input.write_error.empty()) {
    verdict.reason = "ReconcileFailed";
    verdict.message = input.write_error;
  } else if (input.labelling) {
    verdict.reason = reasons::kOperandNotReady;
    verdict.message =
        format("{} is not ready, nodes are being labelled, the operands follow", input.kind);
  } else if (!waiting.empty()) {
    verdict.reason = reasons::kOperandNotReady;
    verdict.message = format("{} is not ready, states not ready: [{}]; {}", input.kind,
                             Join(waiting, " "), Join(reasons, "; "));
  } else if (input.drivers_unfinished) {
    verdict.reason = reasons::kOperandNotReady;
    verdict.message = format("{} is not ready, drivers are being upgraded: {}", input.kind,
                             input.driver_upgrades_summary);
  } else if (cluster.described == 0) {
    verdict.reason = reasons::kNfdLabelsMissing;
    verdict.message =
        input.node_features_ours
            ? "no node has labels of node feature discovery yet"
            : "no node has labels of node feature discovery, and this operator's is switched off: "
              "install NFD, or set nfd.enabled=true";
  } else if (cluster.gpu_nodes == 0 && !cluster.gpus_gone.empty()) {
    verdict.reason = "GPUsGone";
    verdict.message = format(
        "no GPU node is left: node feature discovery no longer finds an NVIDIA GPU on {}; if the "
        "GPUs were taken out, run: kubectl label node {} {}-; else look at the PCI labels and the "
        "configuration of node feature discovery",
        SomeNames(cluster.gpus_gone), cluster.gpus_gone.front(), names::kGpuPresent);
  } else {
    verdict.state = "ready";
    verdict.reason = cluster.gpu_nodes == 0 ? "NoGPUNodes" : "Reconciled";
    verdict.message = cluster.gpu_nodes == 0
                          ? "No GPU node found, watching for new nodes"
                          : format("{} is ready: {} GPU nodes", input.kind, cluster.gpu_nodes);
    verdict.message += Away(cluster);
  }
  return verdict;
}

Verdict JudgeInvalid(std::string_view mistake) {
  Verdict verdict;
  verdict.state = "notReady";
  verdict.reason = "ReconcileFailed";
  verdict.message = verdict.partly = mistake;
  return verdict;
}

Verdict JudgePrerequisite(std::string_view missing) {
  Verdict verdict;
  verdict.state = "notReady";
  verdict.reason = "PrerequisiteNotMet";
  verdict.message = missing;
  return verdict;
}

Verdict JudgeDriver(const DriverOutcome& driver,
                    const std::map<std::string, DaemonSetFacts>& daemon_sets,
                    const ClusterFacts& cluster, std::string_view write_error, bool labelling) {
  Verdict verdict;
  verdict.partly = driver.partly.empty() ? "" : "fields without effect: " + driver.partly;
  if (!driver.state.empty()) {
    verdict.state = driver.state;
    verdict.reason = driver.reason;
    verdict.message = driver.message;
    return verdict;
  }
  if (!write_error.empty()) {
    verdict.state = "notReady";
    verdict.reason = "ReconcileFailed";
    verdict.message = write_error;
    return verdict;
  }
  OperandState state;
  state.state = "ready";
  const std::vector<std::string> names = DaemonSetsOf(driver.objects);
  if (labelling) {
    NotReady(state, "", "nodes are being labelled, the driver follows");
  } else if (!driver.unmarked.empty()) {
    NotReady(state, "", format("not labelled as its nodes yet: {}", SomeNames(driver.unmarked)));
  } else if (!driver.silent.empty()) {
    NotReady(state, "",
             format("no node feature discovery says which system these nodes run: {}",
                    SomeNames(driver.silent)));
  } else if (const auto sum = SumUp(names, daemon_sets, state); sum.has_value()) {
    JudgeNumbers(*sum, Join(names, ", "),
                 {.labelled = driver.labelled,
                  .expected = driver.expected,
                  .exchanged = driver.upgrade.has_value(),
                  .remark = Away(cluster)},
                 state);
  }
  verdict.untolerated = driver.untolerated;
  if (state.state == "notReady" && !driver.untolerated.empty()) {
    state.message +=
        format("; taints that its spec.tolerations lacks: {}", SomeNames(driver.untolerated));
  }
  verdict.state = state.state;
  const bool ready = state.state == "ready";
  verdict.reason = ready ? "Reconciled" : reasons::kDriverNotReady;
  verdict.message =
      ready ? format("NVIDIADriver is ready: {} nodes", driver.labelled) : state.message;
  return verdict;
}

}  // namespace gantry::gpu_operator
