// SPDX-License-Identifier: Apache-2.0

// What of a node's labels and annotations is the operator's? Decided from the Node alone, because
// an uninstallation that is repeated has nothing else left to look at.

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
  // What was set for the MIG manager; another value is somebody's wish.
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
    // NFD's records are the operator's own where it has been at work.
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
  // A driver manager that was killed could not.
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
  // No upgrade goes on, and nothing stays cordoned that one has cordoned.
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

Json StripConditions(const Json& node) {
  const Json* conditions = At(node, "status.conditions");
  if (conditions == nullptr || !conditions->is_array()) {
    return {};
  }
  for (size_t i = 0; i < conditions->size(); ++i) {
    if (TextAt((*conditions)[i], "type") == names::kGpuHealthyCondition) {
      const std::string path = format("/status/conditions/{}", i);
      return Json::array(
          {{{"op", "test"}, {"path", path + "/type"}, {"value", names::kGpuHealthyCondition}},
           {{"op", "remove"}, {"path", path}}});
    }
  }
  return {};
}

bool IsOurNodeFeature(const Json& node_feature) {
  return policy::IsFromOurWorker(node_feature) ||
         TextAt(node_feature, "metadata.name").starts_with(names::kGpuFeature) ||
         TextAt(node_feature, "metadata.name").starts_with(names::kValidationFeature);
}

}  // namespace gantry::gpu_operator
