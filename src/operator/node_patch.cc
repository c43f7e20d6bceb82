// SPDX-License-Identifier: Apache-2.0

// How is a change of a node written? As merge patches of the Node and of its status.

#include "operator/node_patch.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace gantry::gpu_operator {
namespace {

// null removes a key.
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

}  // namespace gantry::gpu_operator
