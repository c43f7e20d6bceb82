// SPDX-License-Identifier: Apache-2.0
// Which stage is a GPU node at, and what does it wait for? Mostly by its own labels and conditions.
// Labels have no time, so progress is judged by their writer's last write.
#include "doctor/node_stage.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/text.h"
#include "doctor/node_choice.h"
#include "policy/feature_labels.h"
#include "policy/names.h"
#include "policy/reasons.h"

namespace gantry::doctor {
namespace {

// A new node pulls images first.
constexpr std::chrono::minutes kNew(3);
// The time to pull an image of hundreds of megabytes and compile the driver.
constexpr std::chrono::minutes kDriverPatience(20);
// Labels are restored one after the other.
constexpr std::chrono::minutes kPausePatience(3);

constexpr char kDevicePlugin[] = "device-plugin";  // in labels
// The MIG manager's, as names::kDeployPaused is a driver manager's.
constexpr char kMigPause[] = "paused-for-mig-change";

bool IsMigChanging(const NodeFacts& node) {
  return LabelIs(node, names::kMigConfigState, "pending") ||
         LabelIs(node, names::kMigConfigState, "rebooting");
}

Upgrade UpgradeOf(const NodeFacts& node) {
  const std::string state = ValueOf(node, names::kDriverUpgradeState);
  if (state.empty() || state == "upgrade-done") {
    return Upgrade::kNone;
  }
  if (state == "upgrade-failed") {
    return Upgrade::kFailed;
  }
  return state == "upgrade-required" ? Upgrade::kPending : Upgrade::kInProgress;
}

// Whether a reconciled policy disables the operand.
bool IsOff(const ClusterFacts& cluster, bool PolicyFacts::* enabled) {
  return std::ranges::any_of(cluster.policies, [enabled](const PolicyFacts& policy) {
    return policy.state != "ignored" && !(policy.*enabled);
  });
}

// Whether a reconciled policy deploys that operand on that node; without a policy: by the node's
// label alone.
bool IsAskedFor(const ClusterFacts& cluster, bool PolicyFacts::* enabled, const NodeFacts& node,
                const char* operand) {
  return !IsOff(cluster, enabled) && LabelIs(node, DeployLabel(operand), "true");
}

// Whether the operator has set the deploy labels of the node.
bool IsTakenIn(const NodeFacts& node) {
  return std::ranges::any_of(node.labels, [](const auto& label) {
    return label.first.starts_with(names::kDeployPrefix) && label.first != names::kDeployOperands;
  });
}

// Whether its GPUs are for virtual machines, so that containers get none.
bool IsForMachines(const NodeFacts& node) {
  return std::ranges::any_of(
      std::array{"sandbox-device-plugin", "kata-sandbox-device-plugin"},
      [&node](const char* plugin) { return !ValueOf(node, DeployLabel(plugin)).empty(); });
}

// Whether the node should have the validator's verdict. If the validator could not be read, it
// counts as Gantry's.
bool IsToBeValidated(const ClusterFacts& cluster, const NodeFacts& node) {
  const bool theirs = std::ranges::any_of(cluster.operands, [](const OperandFacts& operand) {
    return operand.name == "nvidia-operator-validator" && !operand.publishes;
  });
  return !theirs && LabelIs(node, names::kDeployValidator, "true");
}

// The validator's verdict; without a wanted device plugin, a lack of allocatable GPUs is not a
// fault.
std::string VerdictOf(const NodeFacts& node, bool plugin_wanted) {
  const std::string validation = ValueOf(node, names::kGpuValidation);
  return validation == reasons::kNoGpuAllocatable.code && !plugin_wanted ? names::kValidationReady
                                                                         : validation;
}

// The fault that the validator reports, or, without a validator, the reason for a lack of
// allocatable GPUs; empty: none.
std::string LackOf(const NodeFacts& node, const NodeStage& stage) {
  if (!stage.verdict.empty() && stage.verdict != names::kValidationReady) {
    return stage.verdict;
  }
  if (SumOf(node.capacity) > 0 || stage.awaits_verdict || stage.is_new || !stage.plugin_wanted) {
    return "";
  }
  const bool driver = node.labels.contains(names::kCudaDriverVersionFull) || !stage.verdict.empty();
  return driver ? reasons::kNoGpuAllocatable.code : reasons::kDriverMissing.code;
}

// The operand that installs the node's driver; nullptr: none does.
const OperandFacts* DriverOf(const ClusterFacts& cluster, const NodeFacts& node) {
  const auto found = std::ranges::find_if(cluster.operands, [&node](const OperandFacts& operand) {
    return BringsDriver(operand.name) && Takes(operand.choice, node);
  });
  return found == cluster.operands.end() ? nullptr : &*found;
}

// The manager's value that pauses its device plugin meanwhile; empty: none.
std::string_view PauseOf(const NodeFacts& node) {
  const std::string value = ValueOf(node, DeployLabel(kDevicePlugin));
  for (const std::string_view pause : {names::kDeployPaused, kMigPause}) {
    if (value.find(pause) != std::string::npos) {
      return pause;
    }
  }
  return "";
}

// A driver manager removes its pause before the driver is loaded; without a driver manager it
// stays. The MIG manager's ends with the change. A pause without a time can't be judged.
bool IsPauseLeft(const ClusterFacts& cluster, const NodeFacts& node, const NodeStage& stage) {
  const bool driver = stage.pause == names::kDeployPaused &&
                      (stage.driver != nullptr || IsUnread(cluster, kDaemonSetsPart));
  return !stage.pause.empty() && !stage.changing() &&
         WrittenBefore(cluster, node, DeployLabel(kDevicePlugin).c_str(),
                       driver ? kUpgradePatience : kPausePatience);
}

std::string PluginOffBy(const ClusterFacts& cluster, const NodeFacts& node,
                        const NodeStage& stage) {
  const std::string label = DeployLabel(kDevicePlugin);
  const std::string value = ValueOf(node, label);
  if (!stage.has_gpu) {
    return "";
  }
  if (LabelIs(node, names::kDeployOperands, "false")) {
    return format("label {}=false", names::kDeployOperands);
  }
  if (!value.empty() && value != "true" && (stage.pause.empty() || stage.pause_left)) {
    return format("label {}={}", label, value);
  }
  const auto policy = std::ranges::find_if(cluster.policies, [](const PolicyFacts& each) {
    return each.state != "ignored" && !each.offers_gpus;
  });
  return policy == cluster.policies.end()
             ? ""
             : format("devicePlugin.enabled=false of {}", policy->object);
}

// After a device plugin was removed, the kubelet shows its GPUs for some minutes, and offers none.
bool HasUnhealthy(const ClusterFacts& cluster, const NodeFacts& node, const NodeStage& stage) {
  const bool off =
      IsOff(cluster, &PolicyFacts::offers_gpus) ||
      (stage.taken_in && !stage.for_machines && !LabelIs(node, DeployLabel(kDevicePlugin), "true"));
  return SumOf(node.allocatable) < SumOf(node.capacity) && !(off && OffersNothing(node));
}

bool IsInstalling(const ClusterFacts& cluster, const NodeFacts& node, const NodeStage& stage) {
  const auto begun = cluster.drivers_begun.find(node.name);
  return IsAboutDriversFiles(stage.lacks) && stage.driver != nullptr &&
         begun != cluster.drivers_begun.end() &&
         begun->second > Rfc3339(cluster.now - kDriverPatience);
}

// The order matters: later statements read the results of earlier ones.
NodeStage StageOf(const ClusterFacts& cluster, const NodeFacts& node) {
  NodeStage stage;
  stage.has_gpu = HasGpu(node);
  stage.is_new = IsNew(cluster, node.made_at);
  stage.mig_changing = IsMigChanging(node);
  stage.upgrade = UpgradeOf(node);
  stage.driver = DriverOf(cluster, node);
  stage.taken_in = IsTakenIn(node);
  stage.for_machines = IsForMachines(node);
  stage.plugin_wanted = IsAskedFor(cluster, &PolicyFacts::offers_gpus, node, kDevicePlugin);
  stage.labels_wanted =
      IsAskedFor(cluster, &PolicyFacts::labels_gpus, node, "gpu-feature-discovery");
  stage.verdict_wanted = IsToBeValidated(cluster, node);
  const std::string validation = ValueOf(node, names::kGpuValidation);
  stage.awaits_verdict = validation.empty() && stage.verdict_wanted;
  stage.verdict = VerdictOf(node, stage.plugin_wanted);
  stage.lacks = LackOf(node, stage);
  stage.installing = IsInstalling(cluster, node, stage);
  stage.pause = PauseOf(node);
  stage.pause_left = IsPauseLeft(cluster, node, stage);
  stage.plugin_off_by = PluginOffBy(cluster, node, stage);
  stage.gpus_unhealthy = HasUnhealthy(cluster, node, stage);
  stage.unsettled = !node.ready || stage.changing() || stage.installing || stage.is_new ||
                    (!validation.empty() && validation != names::kValidationReady);
  stage.unfinished = stage.is_new || (stage.has_gpu && (stage.unsettled || stage.awaits_verdict));
  stage.may_offer =
      stage.has_gpu && (stage.changing() || (SumOf(node.capacity) == 0 && stage.unfinished));
  return stage;
}

}  // namespace

bool HasGpu(const NodeFacts& node) {
  return LabelIs(node, names::kGpuPresent, "true") ||
         std::ranges::any_of(node.labels, [](const auto& label) {
           return label.second == "true" &&
                  policy::ReadPciLabel(label.first) == policy::PciLabel::kGpu;
         });
}

bool IsNew(const ClusterFacts& cluster, const std::string& made_at) {
  return made_at > Rfc3339(cluster.now - kNew);
}

bool WrittenBefore(const ClusterFacts& cluster, const NodeFacts& node, const char* label,
                   std::chrono::minutes limit) {
  const auto at = node.written.find(label);
  return at != node.written.end() && at->second < Rfc3339(cluster.now - limit);
}

bool WrittenWithin(const ClusterFacts& cluster, const NodeFacts& node, const char* label,
                   std::chrono::minutes limit) {
  return node.written.contains(label) && !WrittenBefore(cluster, node, label, limit);
}

bool OffersNothing(const NodeFacts& node) {
  return SumOf(node.allocatable) == 0 && node.gpus_out.empty();
}

bool IsAboutDriversFiles(std::string_view word) {
  return word == reasons::kDriverMissing.code || word == reasons::kDriverContainerNotReady.code;
}

StagedCluster::StagedCluster(const ClusterFacts& cluster) : facts(cluster) {
  for (const NodeFacts& node : cluster.nodes) {
    stages_.insert_or_assign(node.name, StageOf(cluster, node));
  }
}

const NodeStage& StagedCluster::Of(const NodeFacts& node) const { return stages_.at(node.name); }

std::string StageName(const NodeFacts& node, const NodeStage& stage) {
  const std::string mig = ValueOf(node, names::kMigConfigState);
  if (!node.ready) {
    return "node not ready";
  }
  if (LabelIs(node, names::kDeployOperands, "false")) {
    return "disabled";
  }
  if (stage.upgrade != Upgrade::kNone) {
    return "driver " + ValueOf(node, names::kDriverUpgradeState);
  }
  if (stage.mig_changing || mig == "failed") {
    return "MIG " + mig;
  }
  if (!stage.verdict.empty() && stage.verdict != names::kValidationReady) {
    return stage.verdict;
  }
  const bool offers = !stage.taken_in || stage.for_machines || stage.plugin_wanted;
  if (SumOf(node.capacity) == 0 && offers) {
    const bool driver = stage.for_machines || node.labels.contains(names::kCudaDriverVersionFull);
    return driver ? "device plugin" : "driver";
  }
  if (stage.verdict.empty() && (!stage.taken_in || stage.verdict_wanted)) {
    return "validation";
  }
  if (ValueOf(node, names::kGpuProduct).empty() && (!stage.taken_in || stage.labels_wanted)) {
    return "labels";
  }
  return stage.gpus_unhealthy ? "GPUs unhealthy" : "ready";
}

}  // namespace gantry::doctor
