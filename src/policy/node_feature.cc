// SPDX-License-Identifier: Apache-2.0
// What does a NodeFeature object look like, and does the stored one differ? The wanted fields are
// merged into the stored object, so that the complete documents can be compared. Without own
// features, spec.features is written empty, as other writers of labels do: the three maps are
// optional in NFD's schema, but not for its older readers.
#include "policy/node_feature.h"

#include "base/text.h"
#include "policy/names.h"

namespace gantry::policy {
namespace {

constexpr char kOurPrefix[] = "gantry-";

}  // namespace

std::string OurWorkerVersion() { return format("{}{}", kOurPrefix, GANTRY_VERSION); }

bool IsFromOurWorker(const Json& node_feature) {
  const Json* version = At(node_feature, {"metadata", "annotations", names::kNfdWorkerVersion});
  return version != nullptr && version->is_string() &&
         version->get_ref<const std::string&>().starts_with(kOurPrefix);
}

Json NodeFeatureObject(const NodeFeature& wanted, const Json* stored) {
  Json object = stored != nullptr && stored->is_object() ? *stored : Json::object();
  object["apiVersion"] = format("{}/v1alpha1", names::kNfdGroup);
  object["kind"] = "NodeFeature";
  Json& metadata = object["metadata"];
  metadata["name"] = wanted.name;
  metadata["namespace"] = wanted.ns;
  metadata["labels"][names::kNfdNodeName] = wanted.node;
  if (!wanted.worker_version.empty()) {
    metadata["annotations"][names::kNfdWorkerVersion] = wanted.worker_version;
  }
  for (const auto& [key, value] : wanted.annotations) {
    metadata["annotations"][key] = value;
  }
  metadata.erase("ownerReferences");
  Json& spec = object["spec"];
  spec["labels"] = wanted.labels;
  if (!wanted.features.is_null()) {
    spec["features"] = wanted.features;
  } else if (!spec.contains("features")) {
    spec["features"] = {
        {"attributes", Json::object()}, {"flags", Json::object()}, {"instances", Json::object()}};
  }
  return object;
}

std::map<std::string, std::string> NodeFeatureLabels(const Json& stored) {
  std::map<std::string, std::string> labels;
  if (const Json* map = At(stored, "spec.labels"); map != nullptr && map->is_object()) {
    for (const auto& [key, value] : map->items()) {
      if (value.is_string()) {
        labels[key] = value.get<std::string>();
      }
    }
  }
  return labels;
}

}  // namespace gantry::policy
