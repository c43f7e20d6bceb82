// SPDX-License-Identifier: Apache-2.0

// Which labels should a node have? From its labels, its NodeFeature objects and the policy.
// DaemonSets select nodes by these labels, so a label that disappears for a moment deletes pods on
// the node. Therefore missing information changes nothing; only a statement does. Other writers'
// label values are respected: "false" and NVIDIA's driver manager's "paused-for-driver-upgrade"
// must stay.

#include "operator/node_labels.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <set>

#include "base/text.h"
#include "operator/feature_changes.h"
#include "operator/label_editor.h"
#include "operator/upgrade/roll_out.h"
#include "policy/feature_labels.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

using Words = std::vector<std::string_view>;

// `workload` is the value of names::kWorkloadConfig, `mode` that of sandboxWorkloads.mode.
policy::Workload WorkloadNamed(std::string_view workload, std::string_view mode) {
  if (workload == "vm-passthrough") {
    return mode == "kata" ? policy::Workload::kKata : policy::Workload::kPassthrough;
  }
  return workload == "vm-vgpu" ? policy::Workload::kVgpu : policy::Workload::kContainer;
}

enum class Gpus { kThere, kGone, kNotSaid };

// Whether NodeFeatures' PCI devices have a GPU: those of the running discovery, or, if it has none,
// of any. An object that a removed discovery left may be outdated.
std::optional<bool> RawGpus(const NamedFeatures& features, std::optional<bool> foreign,
                            bool ours_at_work) {
  std::optional<bool> current;
  std::optional<bool> others;
  const auto add = [](std::optional<bool>& to, std::optional<bool> gpus) {
    if (gpus.has_value()) {
      to = to.value_or(false) || *gpus;
    }
  };
  add(ours_at_work ? others : current, foreign);
  for (const auto& [name, facts] : features) {
    const bool at_work = ours_at_work ? facts->ours : facts->foreign;
    add(at_work ? current : others, facts->gpus);
  }
  return current.has_value() ? current : others;
}

// Whether the node has GPUs, by its resulting labels. A label in NVIDIA's forms decides, because
// users also write it by hand. For other forms the raw features are more exact. Without those a GPU
// is not gone while a label may mean it, or the kubelet offers it.
Gpus SeenGpus(const Labels& labels, std::optional<bool> raw, bool described, bool offered) {
  using policy::PciLabel;
  bool labelled = false;
  bool unclear = false;
  for (const auto& [key, value] : labels) {
    const PciLabel says = value == "true" ? policy::ReadPciLabel(key) : PciLabel::kNothing;
    if (says == PciLabel::kGpu &&
        (key == names::kPciNvidia || key == names::kPciNvidia3d || key == names::kPciNvidiaVga)) {
      return Gpus::kThere;
    }
    labelled |= says == PciLabel::kGpu;
    unclear |= says == PciLabel::kUnclear;
  }
  if (raw.has_value()) {
    return *raw ? Gpus::kThere : Gpus::kGone;
  }
  if (labelled) {
    return Gpus::kThere;
  }
  return described && !unclear && !offered ? Gpus::kGone : Gpus::kNotSaid;
}

// GPU feature discovery's label decides; before it is set, the product names of MIG capable GPUs. A
// guest with a virtual GPU can't be divided.
bool IsMigCapable(const Labels& labels) {
  if (!ValueOf(labels, names::kVgpuHostDriver).empty()) {
    return false;
  }
  if (const std::string capable = ValueOf(labels, names::kMigCapable); !capable.empty()) {
    return capable == "true";
  }
  const std::string product = Lower(ValueOf(labels, names::kGpuProduct));
  return std::ranges::any_of(std::array{"h100", "a100", "a30"}, [&](std::string_view part) {
    return product.find(part) != std::string::npos;
  });
}

// Whether its GPUs have MIG devices, by GPU feature discovery's labels under either strategy.
bool IsDivided(const Labels& labels) {
  const auto device = labels.lower_bound(names::kMigResourcePrefix);
  return (device != labels.end() && device->first.starts_with(names::kMigResourcePrefix)) ||
         ValueOf(labels, names::kGpuProduct).find("-MIG-") != std::string::npos;
}

// Whether a node without a requested layout gets the default one. MIG devices that no MIG manager
// has made are an administrator's, and stay.
bool GetsMigDefault(const Labels& labels) {
  return ValueOf(labels, names::kMigConfig).empty() &&
         (!ValueOf(labels, names::kMigConfigState).empty() || !IsDivided(labels));
}

// Another writer's value is not removed: "false" stays, even if the GPU is gone.
void RemoveDeployLabel(const std::string& label, LabelEditor& editor) {
  if (IsWrittenDeployValue(ValueOf(editor.labels(), label))) {
    editor.Remove(label);
  }
}

void RemoveDeployLabels(LabelEditor& editor) {
  for (const std::string& label : DeployLabels()) {
    RemoveDeployLabel(label, editor);
  }
}

bool IsDriver(std::string_view suffix) {
  return suffix == policy::OperandOf(policy::OperandId::kDriver).deploy ||
         suffix == policy::OperandOf(policy::OperandId::kVgpuManager).deploy;
}

// The system of its driver, while the node should have one. The last published system counts while
// node feature discovery does not run.
void ApplyDriverSystem(const NodeFacts& node, const LabelRules& rules, const Words& wanted,
                       LabelEditor& editor) {
  if (!rules.driver_systems || std::ranges::none_of(wanted, IsDriver)) {
    editor.Remove(names::kDriverSystem);
  } else if (const std::string system = DriverSystemOf(editor.labels(), node.runtime);
             !system.empty()) {
    editor.Set(names::kDriverSystem, system);
  }
}

// Whether a DaemonSet for another system would select the node once it should have a driver.
bool WaitsForDriver(const LabelRules& rules, const Labels& labels) {
  return std::ranges::any_of(rules.open_drivers,
                             [&](const OpenDriverSet& open) { return open.WouldTake(labels); });
}

void ApplyDeployLabels(const NodeFacts& node, const LabelRules& rules, LabelEditor& editor) {
  if (ValueOf(editor.labels(), names::kDeployOperands) == "false") {
    RemoveDeployLabels(editor);
    ApplyDriverSystem(node, rules, {}, editor);
    return;
  }
  std::string workload = "container";
  if (rules.sandbox) {
    const std::string asked = ValueOf(editor.labels(), names::kWorkloadConfig);
    const bool known = asked == "container" || asked == "vm-passthrough" || asked == "vm-vgpu";
    workload = known ? asked : rules.default_workload;
  }
  const std::string_view mig_manager = policy::OperandOf(policy::OperandId::kMigManager).deploy;
  Words wanted = policy::DeployedFor(rules.claims ? policy::Workload::kClaims
                                                  : WorkloadNamed(workload, rules.sandbox_mode));
  const bool mig = workload == "container" && IsMigCapable(editor.labels());
  if (!mig) {
    std::erase(wanted, mig_manager);
  }
  if (mig && !rules.mig_default.empty() && GetsMigDefault(editor.labels())) {
    editor.Set(names::kMigConfig, rules.mig_default);
  }
  ApplyDriverSystem(node, rules, wanted, editor);
  const bool waits = WaitsForDriver(rules, editor.labels());
  for (const std::string& label : DeployLabels()) {
    const std::string_view suffix =
        std::string_view(label).substr(std::string_view(names::kDeployPrefix).size());
    if (std::ranges::find(wanted, suffix) != wanted.end()) {
      if (ValueOf(editor.labels(), label).empty() && !(waits && IsDriver(suffix))) {
        editor.Set(label, "true");
      }
    } else if (suffix != mig_manager || workload != "container") {
      RemoveDeployLabel(label, editor);
    }
  }
}

void ApplyDriverOwner(const LabelRules& rules, LabelEditor& editor) {
  if (ValueOf(editor.labels(), names::kGpuPresent) != "true") {
    editor.Remove(names::kDriverOwner);
  } else if (rules.driver_owner.has_value() && rules.driver_owner->empty()) {
    editor.Remove(names::kDriverOwner);
  } else if (rules.driver_owner.has_value()) {
    editor.Set(names::kDriverOwner, *rules.driver_owner);
  }
}

// NVIDIA's driver manager reads it before it removes a driver from the node, so it is written with
// the labels that deploy the driver.
void ApplyUpgradeSwitch(const NodeFacts& node, const LabelRules& rules, LabelEditor& editor) {
  const bool asked = rules.upgrades ||
                     rules.upgraded_drivers.contains(ValueOf(editor.labels(), names::kDriverOwner));
  const bool wanted = asked && ValueOf(editor.labels(), names::kGpuPresent) == "true";
  const bool said = ValueIn(node.upgrade, names::kUpgradeEnabled) == "true";
  if (wanted != said) {
    editor.Annotate(names::kUpgradeEnabled, wanted ? "true" : "");
  }
}

}  // namespace

LabelRules RulesOf(const policy::ClusterPolicy& policy, bool foreign_nfd) {
  const auto has = [&](policy::OperandId id) {
    const policy::Operand& operand = policy::OperandOf(id);
    return policy::Wanted(operand, policy) && policy::HasImage(operand, policy);
  };
  LabelRules rules = {!foreign_nfd,
                      policy.sandbox,
                      policy.sandbox_mode,
                      policy.default_workload,
                      has(policy::OperandId::kMigManager) ? policy.mig_default : "",
                      upgrade::IsOn(policy),
                      {},
                      std::string(),
                      true,
                      has(policy::OperandId::kDriver) || has(policy::OperandId::kVgpuManager),
                      {}};
  rules.claims = policy.dra_driver.enabled;
  return rules;
}

NodeChange DecideLabels(const std::string& name, const NodeFacts& node,
                        const NamedFeatures& features, const LabelRules& rules,
                        const RuleSays& says, const std::vector<std::string>& gone,
                        std::optional<bool> foreign_gpus) {
  LabelEditor editor(UnpackLabels(node.labels));
  if (rules.from_features) {
    ApplyNodeFeatures(name, node, features, rules, says, gone, editor);
  }
  const bool described =
      node.described || std::ranges::any_of(editor.change.set, [](const auto& label) {
        return label.first.starts_with(names::kFeaturePrefix);
      });
  const Gpus gpus = SeenGpus(editor.labels(), RawGpus(features, foreign_gpus, rules.from_features),
                             described, node.gpu_resource);
  if (gpus == Gpus::kThere) {
    editor.Set(names::kGpuPresent, "true");
    ApplyDeployLabels(node, rules, editor);
  } else if (gpus == Gpus::kGone) {
    if (editor.labels().contains(names::kGpuPresent)) {
      editor.Set(names::kGpuPresent, "false");
    }
    RemoveDeployLabels(editor);
    ApplyDriverSystem(node, rules, {}, editor);
  } else if (ValueOf(editor.labels(), names::kGpuPresent) == "true") {
    // Set by hand, or by a discovery that does not run for the moment.
    ApplyDeployLabels(node, rules, editor);
  }
  ApplyDriverOwner(rules, editor);
  ApplyUpgradeSwitch(node, rules, editor);
  return std::move(editor.change);
}

bool IsWrittenDeployValue(std::string_view value) {
  return value == "true" || value == names::kDeployPreInstalled ||
         value.find("paused-for-") != std::string_view::npos;
}

bool IsGpuNode(const NodeFacts& node) { return ValueIn(node.labels, names::kGpuPresent) == "true"; }

const std::vector<std::string>& DeployLabels() {
  static const std::vector<std::string> kLabels = [] {
    std::set<std::string> all;
    for (const policy::Workload workload :
         {policy::Workload::kContainer, policy::Workload::kPassthrough, policy::Workload::kKata,
          policy::Workload::kVgpu, policy::Workload::kClaims}) {
      for (const std::string_view suffix : policy::DeployedFor(workload)) {
        all.insert(std::string(names::kDeployPrefix).append(suffix));
      }
    }
    return std::vector<std::string>(all.begin(), all.end());
  }();
  return kLabels;
}

}  // namespace gantry::gpu_operator
