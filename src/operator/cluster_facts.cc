// SPDX-License-Identifier: Apache-2.0

// What is known of all nodes together? The nodes on which a DaemonSet should have a pod are counted
// as the DaemonSet controller does (label and taints), to distinguish a DaemonSet that it has not
// reconciled yet, with 0 pods desired, from one without nodes.

#include "operator/cluster_facts.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "operator/node_labels.h"
#include "policy/mig_holders.h"
#include "policy/names.h"
#include "policy/operands.h"
#include "policy/reasons.h"
#include "policy/taints.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kMps = "mps-control-daemon";
constexpr std::string_view kDraDeploy = "dra-driver";

// Added to every DaemonSet pod by its controller. (not-ready and unreachable only as NoExecute: a
// pod stays on such a node, and none is started there.)
bool IsToleratedByController(const Taint& taint) {
  static constexpr std::array kNoExecute = {"not-ready", "unreachable"};
  static constexpr std::array kNoSchedule = {"disk-pressure", "memory-pressure", "pid-pressure",
                                             "unschedulable"};
  if (!taint.key.starts_with(policy::kNodeConditionTaints)) {
    return false;
  }
  const std::string_view name =
      std::string_view(taint.key).substr(policy::kNodeConditionTaints.size());
  const auto is = [&](const char* known) { return name == known; };
  return taint.effect == "NoExecute" ? std::ranges::any_of(kNoExecute, is)
                                     : std::ranges::any_of(kNoSchedule, is);
}

bool Tolerates(const Json& toleration, const Taint& taint) {
  const std::string effect = TextAt(toleration, "effect");
  const std::string key = TextAt(toleration, "key");
  if ((!effect.empty() && effect != taint.effect) || (!key.empty() && key != taint.key)) {
    return false;
  }
  if (TextAt(toleration, "operator", "Equal") == "Exists") {
    return true;
  }
  return !key.empty() && TextAt(toleration, "value") == taint.value;
}

std::string_view RuntimeName(std::string_view scheme) {
  return scheme == "cri-o" ? "crio" : scheme == "containerd" || scheme == "docker" ? scheme : "";
}

// The relevant labels of a node, as views: they are read for every node at every change of one.
struct NodeMarks {
  std::string_view present;
  std::optional<std::string_view> validation;
  bool validated = false;    // a validator runs there, and its verdict counts
  bool for_vms = false;      // the same for a validator of nodes for virtual machines
  bool mig_managed = false;  // the same for a MIG manager
  std::string_view mig_state;
  std::string_view mig_layout;
  std::string_view mps_capable;
  std::string_view system_id;
  std::string_view system_version;
  std::string_view rhcos;
  std::vector<std::string_view> deployed;  // operands whose deploy label is "true"
};

NodeMarks NodeMarksOf(std::string_view packed) {
  NodeMarks marks;
  const std::array wanted = std::to_array<std::pair<std::string_view, std::string_view*>>(
      {{names::kGpuPresent, &marks.present},
       {names::kMigConfigState, &marks.mig_state},
       {names::kMigConfig, &marks.mig_layout},
       {names::kMpsCapable, &marks.mps_capable},
       {names::kSystemId, &marks.system_id},
       {names::kSystemVersion, &marks.system_version},
       {names::kRhcosVersion, &marks.rhcos}});
  constexpr std::string_view kDeploy = names::kDeployPrefix;
  const std::string_view sandbox_validator =
      policy::OperandOf(policy::OperandId::kSandboxValidation).deploy;
  const std::string_view mig_manager = policy::OperandOf(policy::OperandId::kMigManager).deploy;
  ForEachLabel(packed, [&](std::string_view key, std::string_view value) {
    if (key.starts_with(kDeploy)) {
      if (value == "true") {
        marks.validated |= key == names::kDeployValidator;
        marks.for_vms |= key.substr(kDeploy.size()) == sandbox_validator;
        marks.mig_managed |= key.substr(kDeploy.size()) == mig_manager;
        marks.deployed.push_back(key.substr(kDeploy.size()));
      }
    } else if (key == names::kGpuValidation) {
      marks.validation = value;
    } else if (const auto* found = std::ranges::find(
                   wanted, key, &std::pair<std::string_view, std::string_view*>::first);
               found != wanted.end()) {
      *found->second = value;
    }
  });
  return marks;
}

// Whether the node's GPUs are divided as its label asks; if pods or processes hold them, the
// operator's own sentence says more than the MIG manager's.
// Whether the change waits: then the kubelet offers fewer GPUs, or none, on purpose.
template <typename Describe>
bool JudgeMig(const std::string& name, const NodeFacts& node, const NodeMarks& marks,
              const Describe& describe, ClusterFacts& facts) {
  const auto held = policy::ParseMigHoldersStep(node.mig_holders_step);
  const auto why = [&] {
    return held.has_value() ? format("{} ({})", name, held->message)
                            : describe(name, marks.mig_layout, names::kMigFeature);
  };
  if (marks.mig_state == names::kMigFailed) {
    facts.mig_failed.push_back(why());
    return false;
  }
  if (held.has_value()) {
    facts.mig_waits.push_back(why());
  }
  return held.has_value();
}

void Count(std::string_view operand, std::map<std::string, int, std::less<>>& nodes) {
  if (const auto found = nodes.find(operand); found != nodes.end()) {
    ++found->second;
  } else {
    nodes.emplace(operand, 1);
  }
}

}  // namespace

const Taint* Untolerated(const std::vector<Taint>& taints, const Json& tolerations) {
  for (const Taint& taint : taints) {
    const bool blocks = taint.effect == "NoSchedule" || taint.effect == "NoExecute";
    if (blocks && !IsToleratedByController(taint) &&
        !std::ranges::any_of(tolerations, [&](const Json& t) { return Tolerates(t, taint); })) {
      return &taint;
    }
  }
  return nullptr;
}

std::string RuntimeFor(const ClusterFacts& cluster, std::string_view there) {
  for (const std::string_view runtime : {there, std::string_view("containerd")}) {
    if (cluster.runtimes.contains(runtime)) {
      return std::string(runtime);
    }
  }
  return cluster.runtimes.empty() ? "containerd" : cluster.runtimes.begin()->first;
}

std::vector<std::string> OtherRuntimes(const ClusterFacts& cluster, std::string_view runtime) {
  std::vector<std::string> others;
  for (const auto& [other, names] : cluster.runtimes) {
    for (const std::string& name : names) {
      if (other != runtime) {
        others.push_back(format("{} ({})", name, other));
      }
    }
  }
  std::ranges::sort(others);
  return others;
}

// Kubernetes' own taints follow the node's condition; no pod needs to tolerate them.
bool IsToBeTolerated(const Taint& taint) {
  return !taint.key.starts_with(policy::kNodeConditionTaints) && !policy::PassesByItself(taint.key);
}

std::string UntoleratedText(const std::string& node, const Taint& taint) {
  return format("{}: {}={}:{}", node, taint.key, taint.value, taint.effect);
}

std::string SystemTag(std::string_view id, std::string_view version) {
  if (id.empty() || version.empty()) {
    return "";
  }
  const bool by_major = id == "rhel" || id == "rocky" || id == "ol";
  return std::string(id).append(by_major ? version.substr(0, version.find('.')) : version);
}

ClusterFacts Summarize(const NamedNodes& nodes, const Json& tolerations,
                       const std::function<std::string(const std::string& object)>& broken,
                       const std::set<std::string>& with_devices) {
  ClusterFacts facts;
  std::set<std::string, std::less<>> rhcos;
  const auto describe = [&](const std::string& node, std::string_view word, const char* prefix) {
    const std::string said = broken(prefix + node);
    return format("{} ({}{}{})", node, word, said.empty() ? "" : ": ", said);
  };
  for (const auto& [name, node] : nodes) {
    ++facts.nodes;
    facts.described += node->described ? 1 : 0;
    facts.foreign_nfd |= node->foreign_nfd;
    if (!node->described && node->linux && node->ready) {
      facts.undescribed.push_back(name);
    }
    const NodeMarks marks = NodeMarksOf(node->labels);
    if (marks.present != "true") {
      if (marks.present == "false") {
        facts.gpus_gone.push_back(name);
      }
      continue;
    }
    ++facts.gpu_nodes;
    facts.system_known |= !SystemTag(marks.system_id, marks.system_version).empty();
    if (!marks.rhcos.empty() && !rhcos.contains(marks.rhcos)) {
      rhcos.emplace(marks.rhcos);
    }
    if (const std::string_view runtime = RuntimeName(node->runtime); !runtime.empty()) {
      facts.runtimes[std::string(runtime)].push_back(name);
    }
    if (!node->ready) {
      facts.gpu_not_ready.push_back(name);
    }
    const bool withdrawn =
        node->ready && marks.mig_managed && JudgeMig(name, *node, marks, describe, facts);
    if (node->ready && (marks.validated || marks.for_vms) && marks.validation.has_value() &&
        *marks.validation != names::kValidationReady &&
        !(withdrawn && *marks.validation == reasons::kNoGpuAllocatable.code)) {
      (marks.for_vms ? facts.vms_not_validated : facts.not_validated)
          .push_back(describe(name, *marks.validation, names::kValidationFeature));
    }
    const Taint* taint = Untolerated(node->taints, tolerations);
    if (taint != nullptr && IsToBeTolerated(*taint)) {
      facts.untolerated.push_back(UntoleratedText(name, *taint));
    }
    for (const std::string_view operand : marks.deployed) {
      const bool plugin = operand == "device-plugin";
      const bool by_mps = plugin && marks.mps_capable == "true";
      Count(operand, facts.labelled);
      if (by_mps) {
        Count(kMps, facts.labelled);
      }
      if (taint != nullptr) {
        continue;
      }
      Count(operand, facts.expected);
      if (by_mps) {
        Count(kMps, facts.expected);
      }
      if (plugin && node->ready && !node->gpu_allocatable && !withdrawn) {
        facts.gpu_without_resource.push_back(name);
      }
      if (operand == kDraDeploy && node->ready && !with_devices.contains(name)) {
        facts.gpu_without_device.push_back(name);
      }
    }
  }
  for (auto& [runtime, names] : facts.runtimes) {
    std::ranges::sort(names);
  }
  facts.rhcos.assign(rhcos.begin(), rhcos.end());
  for (auto* list :
       {&facts.undescribed, &facts.gpus_gone, &facts.gpu_not_ready, &facts.gpu_without_resource,
        &facts.gpu_without_device, &facts.not_validated, &facts.vms_not_validated,
        &facts.mig_failed, &facts.mig_waits, &facts.untolerated}) {
    std::ranges::sort(*list);
  }
  return facts;
}

}  // namespace gantry::gpu_operator
