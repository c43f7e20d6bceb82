// SPDX-License-Identifier: Apache-2.0

// Which labels should a node have? From its labels, its NodeFeature objects and the policy.
// DaemonSets select nodes by these labels, so one that blinks ends pods on the node; everything
// here is built so that silence changes nothing and only a statement does. Label values that
// somebody else has set are respected: "false" and NVIDIA's driver manager's
// "paused-for-driver-upgrade" must survive.

#include "operator/node_labels.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using Words = std::vector<std::string_view>;

// NVIDIA's sets of operands by workload (suffixes of nvidia.com/gpu.deploy.).
const Words& OperandsOf(std::string_view workload, std::string_view mode) {
  static const Words kContainer = {
      "driver",        "gpu-feature-discovery", "container-toolkit",  "device-plugin", "dcgm",
      "dcgm-exporter", "node-status-exporter",  "operator-validator", "client"};
  static const Words kPassthrough = {"sandbox-device-plugin", "sandbox-validator", "vfio-manager",
                                     "kata-manager",          "cc-manager",        "client"};
  static const Words kKata = {"kata-sandbox-device-plugin",
                              "sandbox-validator",
                              "vfio-manager",
                              "kata-manager",
                              "cc-manager",
                              "client"};
  static const Words kVgpu = {"sandbox-device-plugin", "vgpu-manager", "vgpu-device-manager",
                              "sandbox-validator",     "cc-manager",   "client"};
  if (workload == "vm-passthrough") {
    return mode == "kata" ? kKata : kPassthrough;
  }
  return workload == "vm-vgpu" ? kVgpu : kContainer;
}

constexpr std::string_view kMigManager = "mig-manager";

std::string Deploy(std::string_view suffix) {
  return std::string(names::kDeployPrefix).append(suffix);
}

std::string ValueOf(const Labels& labels, std::string_view key) {
  const auto found = labels.find(key);
  return found == labels.end() ? "" : found->second;
}

bool HasGpuLabel(const Labels& labels) {
  return ValueOf(labels, names::kPciNvidia) == "true" ||
         ValueOf(labels, names::kPciNvidia3d) == "true" ||
         ValueOf(labels, names::kPciNvidiaVga) == "true";
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
  [[nodiscard]] const Labels& labels() const { return labels_; }
  NodeChange change;

 private:
  Labels labels_;
};

void ApplyFeatures(const NodeFacts& node, const NamedFeatures& features, Editor& editor) {
  FeatureSources sources = ParseSources(node.features);
  Labels said;
  std::set<std::string> dropped;
  for (const auto& [name, facts] : features) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : UnpackLabels(facts->labels)) {
      keys.push_back(key);
      said.emplace(key, value);
    }
    std::vector<std::string>& before = sources[name];
    for (const std::string& key : before) {
      if (!std::ranges::binary_search(keys, key)) {
        dropped.insert(key);
      }
    }
    before = std::move(keys);
  }
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
    editor.change.features = std::move(written);
  }
}

void RemoveDeployLabels(Editor& editor) {
  for (const std::string& label : DeployLabels()) {
    editor.Remove(label);
  }
}

void ApplyDeployLabels(const LabelRules& rules, Editor& editor) {
  if (ValueOf(editor.labels(), names::kDeployOperands) == "false") {
    RemoveDeployLabels(editor);
    return;
  }
  std::string workload = "container";
  if (rules.sandbox) {
    const std::string asked = ValueOf(editor.labels(), names::kWorkloadConfig);
    const bool known = asked == "container" || asked == "vm-passthrough" || asked == "vm-vgpu";
    workload = known ? asked : rules.default_workload;
  }
  Words wanted = OperandsOf(workload, rules.sandbox_mode);
  const bool mig = workload == "container" && IsMigCapable(editor.labels());
  if (mig) {
    wanted.push_back(kMigManager);
  }
  for (const std::string& label : DeployLabels()) {
    const std::string_view suffix =
        std::string_view(label).substr(std::string_view(names::kDeployPrefix).size());
    if (std::ranges::find(wanted, suffix) != wanted.end()) {
      if (ValueOf(editor.labels(), label).empty()) {
        editor.Set(label, "true");
      }
    } else if (suffix != kMigManager || workload != "container") {
      editor.Remove(label);
    }
  }
}

}  // namespace

LabelRules RulesOf(const policy::ClusterPolicy& policy, bool foreign_nfd) {
  return {!foreign_nfd, policy.sandbox, policy.sandbox_mode, policy.default_workload};
}

NodeChange DecideLabels(const NodeFacts& node, const NamedFeatures& features,
                        const LabelRules& rules) {
  Editor editor(UnpackLabels(node.labels));
  if (rules.from_features) {
    ApplyFeatures(node, features, editor);
  }
  const bool described =
      node.described || std::ranges::any_of(editor.change.set, [](const auto& label) {
        return label.first.starts_with(names::kFeaturePrefix);
      });
  if (HasGpuLabel(editor.labels())) {
    editor.Set(names::kGpuPresent, "true");
    ApplyDeployLabels(rules, editor);
  } else if (described) {
    if (editor.labels().contains(names::kGpuPresent)) {
      editor.Set(names::kGpuPresent, "false");
    }
    RemoveDeployLabels(editor);
  } else if (ValueOf(editor.labels(), names::kGpuPresent) == "true") {
    // Said by hand, or by a discovery that is silent for the moment.
    ApplyDeployLabels(rules, editor);
  }
  return std::move(editor.change);
}

bool IsGpuNode(const NodeFacts& node) {
  return ValueOf(UnpackLabels(node.labels), names::kGpuPresent) == "true";
}

Json PatchOf(const NodeChange& change) {
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
  if (change.features.has_value()) {
    metadata["annotations"][names::kFeatureLabelsAnnotation] =
        change.features->empty() ? Json(nullptr) : Json(*change.features);
  }
  return {{"metadata", std::move(metadata)}};
}

const std::vector<std::string>& DeployLabels() {
  static const std::vector<std::string> kLabels = [] {
    std::set<std::string> all = {Deploy(kMigManager)};
    for (const std::string_view workload : {"container", "vm-passthrough", "vm-vgpu"}) {
      for (const std::string_view mode : {"kubevirt", "kata"}) {
        for (const std::string_view suffix : OperandsOf(workload, mode)) {
          all.insert(Deploy(suffix));
        }
      }
    }
    return std::vector<std::string>(all.begin(), all.end());
  }();
  return kLabels;
}

}  // namespace gantry::gpu_operator
