// SPDX-License-Identifier: Apache-2.0

// Which of a node's labels and annotations are the operator's? Decided from the Node alone, because
// a repeated uninstallation has nothing else left.

#include "operator/strip.h"

#include <algorithm>

#include "base/text.h"
#include "operator/node_labels.h"
#include "operator/node_patch.h"
#include "operator/startup_taint.h"
#include "operator/upgrade/observe.h"
#include "policy/names.h"
#include "policy/node_feature.h"

namespace gantry::gpu_operator {

Json StripNode(const Json& node, std::string_view instance) {
  const Json* labels = At(node, "metadata.labels");
  const Json* annotations = At(node, "metadata.annotations");
  Json gone = Json::object();
  const auto take = [&](const std::string& label) {
    if (labels != nullptr && labels->contains(label)) {
      gone[label] = nullptr;
    }
  };
  take(names::kGpuPresent);
  take(names::kDriverUpgradeState);
  take(names::kDriverOwner);
  take(names::kDriverSystem);
  for (const std::string& label : DeployLabels()) {
    if (IsWrittenDeployValue(labels == nullptr ? "" : labels->value(label, ""))) {
      take(label);
    }
  }
  // The value set for the MIG manager; another value is a user's.
  if (labels != nullptr && labels->value(names::kMigConfig, "") == "all-disabled") {
    take(names::kMigConfig);
  }
  Json patch = Json::object();
  Json metadata = Json::object();
  if (annotations != nullptr && annotations->contains(names::kFeatureLabelsAnnotation)) {
    const auto written = annotations->value(names::kFeatureLabelsAnnotation, "");
    for (const auto& [object, keys] : ParseSources(written)) {
      std::ranges::for_each(keys, take);
    }
    metadata["annotations"][names::kFeatureLabelsAnnotation] = nullptr;
    // NFD's records are the operator's own if it was NFD's master.
    for (const char* name : {names::kNfdFeatureLabelsAnnotation, names::kNfdFeatureAnnotations,
                             names::kNfdExtendedResources, names::kNfdTaints}) {
      if (const std::string record = NfdRecord(name, instance); annotations->contains(record)) {
        metadata["annotations"][record] = nullptr;
      }
    }
    const NodeFacts facts = ProjectNode(node, {.instance = std::string(instance)});
    for (const auto& [key, value] : facts.rule_annotations) {
      metadata["annotations"][key] = nullptr;
    }
    NodeChange change;
    change.untaint = facts.rule_taints;
    if (!change.untaint.empty()) {
      const Json* taints = At(node, "spec.taints");
      patch["spec"] = PatchOf(change, taints == nullptr ? Json::array() : *taints)["spec"];
    }
  }
  if (annotations != nullptr && annotations->contains(names::kMigHoldersStep)) {
    metadata["annotations"][names::kMigHoldersStep] = nullptr;
  }
  // A killed driver manager could not do this.
  if (annotations != nullptr && annotations->contains(names::kManagerCordon)) {
    metadata["annotations"][names::kManagerCordon] = nullptr;
    patch["spec"]["unschedulable"] = nullptr;
  }
  if (!gone.empty()) {
    metadata["labels"] = std::move(gone);
  }
  if (!metadata.empty()) {
    patch["metadata"] = std::move(metadata);
  }
  // No upgrade continues, and no node stays cordoned by one.
  const upgrade::DriverSnapshot nothing;
  const upgrade::Change end =
      upgrade::Abandon(upgrade::Observer(nothing).Observe("", ProjectNode(node)));
  if (end.marks_node()) {
    patch.update(upgrade::PatchOf(end), true);
  }
  if (annotations != nullptr && annotations->contains(names::kStartupTaint)) {
    AddToPatch(
        {.remove = {annotations->value(names::kStartupTaint, "")}, .add = "", .annotation = ""},
        node, patch);
  }
  if (patch.empty()) {
    return {};
  }
  return patch;
}

Json StripResources(const Json& node, std::string_view instance) {
  if (At(node, {"metadata", "annotations", names::kFeatureLabelsAnnotation}) == nullptr) {
    return {};
  }
  NodeChange change;
  for (const auto& [key, value] :
       ProjectNode(node, {.instance = std::string(instance)}).rule_resources) {
    if (!value.empty()) {
      change.resources[key] = std::nullopt;
    }
  }
  return change.resources.empty() ? Json() : ResourcePatchOf(change);
}

Json StripConditions(const Json& node, std::span<const std::string_view> types) {
  const std::vector<Json> conditions = ListAt(node, "status.conditions");
  Json patch = Json::array();
  // From the last on, because a removal moves those behind it.
  for (size_t i = conditions.size(); i-- > 0;) {
    const std::string type = TextAt(conditions[i], "type");
    if (std::ranges::find(types, type) != types.end()) {
      const std::string path = format("/status/conditions/{}", i);
      patch.push_back({{"op", "test"}, {"path", path + "/type"}, {"value", type}});
      patch.push_back({{"op", "remove"}, {"path", path}});
    }
  }
  return patch.empty() ? Json() : patch;
}

bool IsOurNodeFeature(const Json& node_feature) {
  const std::string name = TextAt(node_feature, "metadata.name");
  return policy::IsFromOurWorker(node_feature) || name.starts_with(names::kGpuFeature) ||
         name.starts_with(names::kValidationFeature) || name.starts_with(names::kMigFeature);
}

}  // namespace gantry::gpu_operator
