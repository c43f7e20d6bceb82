// SPDX-License-Identifier: Apache-2.0

// Which labels should a node have? From its labels, its NodeFeature objects and the policy.
// DaemonSets select nodes by these labels, so one that blinks ends pods on the node; everything
// here is built so that silence changes nothing and only a statement does. Label values that
// somebody else has set are respected: "false" and NVIDIA's driver manager's
// "paused-for-driver-upgrade" must survive.

#include "operator/node_labels.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <set>

#include "base/text.h"
#include "operator/upgrade/roll_out.h"
#include "policy/feature_labels.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

using Words = std::vector<std::string_view>;

// `workload` is the word of names::kWorkloadConfig, `mode` that of sandboxWorkloads.mode.
policy::Workload WorkloadNamed(std::string_view workload, std::string_view mode) {
  if (workload == "vm-passthrough") {
    return mode == "kata" ? policy::Workload::kKata : policy::Workload::kPassthrough;
  }
  return workload == "vm-vgpu" ? policy::Workload::kVgpu : policy::Workload::kContainer;
}

// The source of labels that NodeFeatureRules bring, in the operator's record; no object has this
// name.
constexpr char kRules[] = "NodeFeatureRule";

enum class Gpus { kThere, kGone, kNotSaid };

// What the PCI devices of NodeFeatures say: of the discovery that is at work, or, where that is
// silent, of any. An object that a discovery has left behind may be old.
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

// Whether the node has GPUs, by its labels as they will be. A label of NVIDIA's forms is the last
// word, because people write it by hand too. Of other forms the raw features know more. Without
// those a GPU is not gone while a label may mean it, or the kubelet offers it.
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

// GPU feature discovery's word decides; before it has spoken, the product names of those GPUs that
// can be divided. A guest with a virtual GPU can't.
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

// Collects changes to labels, and shows the labels as they will be.
class Editor {
 public:
  explicit Editor(Labels labels) : labels_(std::move(labels)) {}
  void Set(const std::string& key, const std::string& value) {
    const auto [place, added] = labels_.try_emplace(key, value);
    if (added || place->second != value) {
      place->second = value;
      change.set[key] = value;
    }
  }
  void Remove(const std::string& key) {
    if (labels_.erase(key) > 0) {
      change.set.erase(key);
      change.remove.push_back(key);
    }
  }
  // An empty annotation goes.
  void Annotate(const std::string& key, std::string value) {
    change.annotations[key] = value.empty() ? std::nullopt : std::optional(std::move(value));
  }
  [[nodiscard]] const Labels& labels() const { return labels_; }
  NodeChange change;

 private:
  Labels labels_;
};

// The objects that said something about this node before and don't now.
std::vector<std::string> Silent(const NodeFacts& node, const NamedFeatures& features) {
  std::vector<std::string> silent = SourceNames(node.features);
  std::erase_if(silent, [&](const std::string& object) {
    return object == kRules ||
           std::ranges::find(features, object, &NamedFeatures::value_type::first) != features.end();
  });
  return silent;
}

// Whether an object of ours is missing: it comes back, and until then rules see half of the node.
// Others' objects may be gone for good, and hold nothing up.
bool IsHalfDescribed(const std::string& name, const NodeFacts& node,
                     const NamedFeatures& features) {
  return std::ranges::any_of(Silent(node, features), [&](const std::string& object) {
    return IsOfOurOperand(object, name);
  });
}

bool IsDescribed(const NamedFeatures& features) {
  return std::ranges::any_of(features, [](const auto& feature) { return feature.second->ours; });
}

Labels RuleLabels(const RuleSays& says) {
  Labels labels;
  for (const auto& [key, value] : says.outputs.labels) {
    if (MayBeFeature(key, says.label_policy) && nfd::IsLabelValue(value)) {
      labels.emplace(key, value);
    }
  }
  return labels;
}

// Labels of an NFD that was here before, which nobody of ours has said: they go once our worker has
// described the node, because NFD would take them away too.
void DropForeign(const NodeFacts& node, const NamedFeatures& features, const RuleSays& says,
                 std::set<std::string>& dropped) {
  if (IsDescribed(features)) {
    for (const std::string& key : Split(node.nfd_labels.value_or(""), ',')) {
      // The record is only somebody's word.
      if (std::string full = nfd::WithPrefix(key); MayBeFeature(full, says.label_policy)) {
        dropped.insert(std::move(full));
      }
    }
  }
}

// `half`: rules have seen half of the node.
void ApplyFeatures(const NodeFacts& node, const NamedFeatures& features, const LabelRules& rules,
                   const RuleSays& says, const std::vector<std::string>& gone, bool half,
                   Editor& editor) {
  FeatureSources sources = ParseSources(node.features);
  Labels said;
  std::set<std::string> dropped;
  // A source's keys as they were and as they are; `keep`: those that it no longer says stay.
  const auto take = [&](const std::string& name, const Labels& labels, bool keep) {
    std::vector<std::string>& before = sources[name];
    std::set<std::string> keys(before.begin(), before.end());
    for (const auto& [key, value] : labels) {
      if (!node.other_labels.contains(key)) {
        keys.insert(key);
        said.insert_or_assign(key, value);
      }
    }
    for (const std::string& key : before) {
      if (!keep && !labels.contains(key)) {
        keys.erase(key);
        dropped.insert(key);
      }
    }
    before.assign(keys.begin(), keys.end());
  };
  for (const auto& [name, facts] : features) {
    Labels labels = UnpackLabels(facts->labels);
    if (!rules.validated) {
      labels.erase(names::kGpuValidation);  // what our validator said last, for ever
    }
    take(name, labels, false);
    editor.change.rejected_labels += facts->rejected;
  }
  const Labels from_rules = RuleLabels(says);
  editor.change.rejected_labels += static_cast<int>(says.outputs.labels.size() - from_rules.size());
  // What rules say of half a node is no reason to take something away.
  take(kRules, from_rules, half);
  // While nobody describes the node, the whole kind of objects may be gone for a moment.
  if (IsDescribed(features)) {
    for (const std::string& object : gone) {
      if (const auto source = sources.find(object); source != sources.end()) {
        dropped.insert(source->second.begin(), source->second.end());
        sources.erase(source);
      }
    }
  }
  DropForeign(node, features, says, dropped);
  for (const auto& [key, value] : said) {
    editor.Set(key, value);
  }
  for (const std::string& key : dropped) {
    const bool elsewhere = std::ranges::any_of(sources, [&](const auto& source) {
      return std::ranges::find(source.second, key) != source.second.end();
    });
    if (!elsewhere) {
      editor.Remove(key);
    }
  }
  std::erase_if(sources, [](const auto& source) { return source.second.empty(); });
  if (std::string written = FormatSources(sources); written != node.features) {
    editor.Annotate(names::kFeatureLabelsAnnotation, std::move(written));
  }
  // Until our worker has described the node, NFD's record tells what NFD has left.
  const std::string record = FormatNfdLabels(sources);
  const bool foreign_left =
      node.nfd_labels.has_value() && !node.nfd_labels->empty() && !IsDescribed(features);
  const std::string stored = node.nfd_labels.value_or(FormatNfdLabels(ParseSources(node.features)));
  if (!foreign_left && record != stored) {
    editor.Annotate(NfdRecord(names::kNfdFeatureLabelsAnnotation, says.instance), record);
  }
}

std::string KeysOf(const Labels& map) {
  std::vector<std::string> keys;
  std::ranges::transform(map, std::back_inserter(keys),
                         [](const auto& entry) { return nfd::WithoutPrefix(entry.first); });
  std::ranges::sort(keys);
  return Join(keys, ",");
}

// What is wanted against what is there, of annotations or of resources.
template <typename Same>
void Compare(const Labels& wanted, const Labels& owned, const Same& same,
             std::map<std::string, std::optional<std::string>>& change) {
  for (const auto& [key, value] : wanted) {
    const auto found = owned.find(key);
    if (found == owned.end() || !same(found->second, value)) {
      change[key] = value;
    }
  }
  for (const auto& [key, value] : owned) {
    if (!wanted.contains(key)) {
      change[key] = std::nullopt;
    }
  }
}

// `keep`, here and below: what rules brought earlier and don't now stays.
void ApplyAnnotations(const NodeFacts& node, const RuleSays& says, bool keep, Editor& editor) {
  constexpr size_t kLongestAnnotation = 1024;
  Labels wanted;
  for (const auto& [key, value] : says.outputs.annotations) {
    if (nfd::MayBeOther(key) && value.size() <= kLongestAnnotation &&
        !node.other_annotations.contains(key)) {
      wanted.emplace(key, value);
    }
  }
  if (keep) {
    wanted.insert(node.rule_annotations.begin(), node.rule_annotations.end());
  }
  Compare(wanted, node.rule_annotations, std::equal_to<>(), editor.change.annotations);
  if (const std::string record = KeysOf(wanted); record != KeysOf(node.rule_annotations)) {
    editor.Annotate(NfdRecord(names::kNfdFeatureAnnotations, says.instance), record);
  }
}

void ApplyResources(const NodeFacts& node, const RuleSays& says, bool keep, Editor& editor) {
  Labels wanted;
  for (const auto& [key, value] : says.outputs.extended_resources) {
    if (nfd::MayBeOther(key) && nfd::WholeQuantity(value).has_value() &&
        !node.other_resources.contains(key)) {
      wanted.emplace(key, value);
    }
  }
  editor.change.rejected_resources =
      static_cast<int>(says.outputs.extended_resources.size() - wanted.size());
  if (keep) {
    wanted.insert(node.rule_resources.begin(), node.rule_resources.end());
  }
  // The API server writes 2000 as 2k.
  const auto same = [](const std::string& left, const std::string& right) {
    return nfd::WholeQuantity(left) == nfd::WholeQuantity(right);
  };
  Compare(wanted, node.rule_resources, same, editor.change.resources);
  if (const std::string record = KeysOf(wanted); record != KeysOf(node.rule_resources)) {
    editor.Annotate(NfdRecord(names::kNfdExtendedResources, says.instance), record);
  }
}

void ApplyTaints(const NodeFacts& node, const RuleSays& says, bool keep, Editor& editor) {
  std::vector<Taint> wanted;
  for (const nfd::Taint& taint : says.outputs.taints) {
    const std::string key = nfd::WithPrefix(taint.key);
    if (says.taints && nfd::MayBeTaint(key, taint.value, taint.effect)) {
      wanted.push_back({key, taint.value, taint.effect});
    }
  }
  editor.change.rejected_taints = static_cast<int>(says.outputs.taints.size() - wanted.size());
  const auto has = [](const std::vector<Taint>& taints, const Taint& taint) {
    return std::ranges::find(taints, taint) != taints.end();
  };
  for (const Taint& taint : node.rule_taints) {
    const bool replaced = std::ranges::any_of(wanted, [&taint](const Taint& other) {
      return other.key == taint.key && other.effect == taint.effect;
    });
    if (keep && !replaced && has(node.taints, taint)) {
      wanted.push_back(taint);
    }
  }
  for (const Taint& taint : wanted) {
    if (!has(node.taints, taint)) {
      editor.change.taint.push_back(taint);
    }
  }
  for (const Taint& taint : node.rule_taints) {
    if (!has(wanted, taint) && has(node.taints, taint)) {
      editor.change.untaint.push_back(taint);
    }
  }
  if (wanted != node.rule_taints) {
    editor.Annotate(NfdRecord(names::kNfdTaints, says.instance), FormatTaints(wanted));
  }
}

// Not what somebody else has written there: "false" stays, whatever becomes of the GPU.
void RemoveDeployLabel(const std::string& label, Editor& editor) {
  if (IsWrittenDeployValue(ValueOf(editor.labels(), label))) {
    editor.Remove(label);
  }
}

void RemoveDeployLabels(Editor& editor) {
  for (const std::string& label : DeployLabels()) {
    RemoveDeployLabel(label, editor);
  }
}

bool IsDriver(std::string_view suffix) {
  return suffix == policy::OperandOf(policy::OperandId::kDriver).deploy ||
         suffix == policy::OperandOf(policy::OperandId::kVgpuManager).deploy;
}

// The system that its driver is made for, while the node is to have one. What node feature
// discovery said last counts while it is silent.
void ApplyDriverSystem(const NodeFacts& node, const LabelRules& rules, const Words& wanted,
                       Editor& editor) {
  if (!rules.driver_systems || std::ranges::none_of(wanted, IsDriver)) {
    editor.Remove(names::kDriverSystem);
  } else if (const std::string system = DriverSystemOf(editor.labels(), node.runtime);
             !system.empty()) {
    editor.Set(names::kDriverSystem, system);
  }
}

// Whether a DaemonSet for another system would take the node as soon as it is to have a driver.
bool WaitsForDriver(const LabelRules& rules, const Labels& labels) {
  return std::ranges::any_of(rules.open_drivers,
                             [&](const OpenDriverSet& open) { return open.WouldTake(labels); });
}

void ApplyDeployLabels(const NodeFacts& node, const LabelRules& rules, Editor& editor) {
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
  Words wanted = policy::DeployedFor(WorkloadNamed(workload, rules.sandbox_mode));
  const bool mig = workload == "container" && IsMigCapable(editor.labels());
  if (!mig) {
    std::erase(wanted, mig_manager);
  }
  if (mig && !rules.mig_default.empty() && ValueOf(editor.labels(), names::kMigConfig).empty()) {
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

void ApplyDriverOwner(const LabelRules& rules, Editor& editor) {
  if (ValueOf(editor.labels(), names::kGpuPresent) != "true") {
    editor.Remove(names::kDriverOwner);
  } else if (rules.driver_owner.has_value() && rules.driver_owner->empty()) {
    editor.Remove(names::kDriverOwner);
  } else if (rules.driver_owner.has_value()) {
    editor.Set(names::kDriverOwner, *rules.driver_owner);
  }
}

// NVIDIA's driver manager reads it before it takes a driver off the node, so it comes with the
// labels that bring the driver.
void ApplyUpgradeSwitch(const NodeFacts& node, const LabelRules& rules, Editor& editor) {
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
  return {!foreign_nfd,
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
}

std::vector<std::string> SilentOthers(const std::string& name, const NodeFacts& node,
                                      const NamedFeatures& features) {
  std::vector<std::string> others = Silent(node, features);
  std::erase_if(others, [&](const std::string& object) { return IsOfOurOperand(object, name); });
  return others;
}

NodeChange DecideLabels(const std::string& name, const NodeFacts& node,
                        const NamedFeatures& features, const LabelRules& rules,
                        const RuleSays& says, const std::vector<std::string>& gone,
                        std::optional<bool> foreign_gpus) {
  Editor editor(UnpackLabels(node.labels));
  if (rules.from_features) {
    const bool half = IsHalfDescribed(name, node, features);
    ApplyFeatures(node, features, rules, says, gone, half, editor);
    ApplyAnnotations(node, says, half, editor);
    ApplyResources(node, says, half, editor);
    ApplyTaints(node, says, half, editor);
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
    // Said by hand, or by a discovery that is silent for the moment.
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

namespace {

// null takes a key away.
Json OptionalMap(const std::map<std::string, std::optional<std::string>>& map) {
  Json json = Json::object();
  for (const auto& [key, value] : map) {
    json[key] = value.has_value() ? Json(*value) : Json();
  }
  return json;
}

Json ChangedTaints(const NodeChange& change, const Json& taints) {
  Json changed = Json::array();
  for (const Json& taint : taints) {
    const Taint facts{TextAt(taint, "key"), TextAt(taint, "value"), TextAt(taint, "effect")};
    const bool replaced = std::ranges::any_of(change.taint, [&](const Taint& other) {
      return other.key == facts.key && other.effect == facts.effect;
    });
    if (!replaced && std::ranges::find(change.untaint, facts) == change.untaint.end()) {
      changed.push_back(taint);
    }
  }
  for (const Taint& taint : change.taint) {
    changed.push_back({{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  }
  return changed;
}

}  // namespace

Json PatchOf(const NodeChange& change, const Json& taints) {
  Json labels = Json::object();
  for (const auto& [key, value] : change.set) {
    labels[key] = value;
  }
  for (const std::string& key : change.remove) {
    labels[key] = nullptr;
  }
  Json metadata = Json::object();
  if (!labels.empty()) {
    metadata["labels"] = std::move(labels);
  }
  if (!change.annotations.empty()) {
    metadata["annotations"] = OptionalMap(change.annotations);
  }
  Json patch = {{"metadata", std::move(metadata)}};
  if (!change.taint.empty() || !change.untaint.empty()) {
    patch["spec"]["taints"] = ChangedTaints(change, taints);
  }
  return patch;
}

Json ResourcePatchOf(const NodeChange& change) {
  return {{"status", {{"capacity", OptionalMap(change.resources)}}}};
}

const std::vector<std::string>& DeployLabels() {
  static const std::vector<std::string> kLabels = [] {
    std::set<std::string> all;
    for (const policy::Workload workload :
         {policy::Workload::kContainer, policy::Workload::kPassthrough, policy::Workload::kKata,
          policy::Workload::kVgpu}) {
      for (const std::string_view suffix : policy::DeployedFor(workload)) {
        all.insert(std::string(names::kDeployPrefix).append(suffix));
      }
    }
    return std::vector<std::string>(all.begin(), all.end());
  }();
  return kLabels;
}

}  // namespace gantry::gpu_operator
