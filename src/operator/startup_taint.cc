// SPDX-License-Identifier: Apache-2.0

// May pods be scheduled on this GPU node? Decided by its labels: nvidia.com/gpu.validation is the
// validator's verdict. A new node is ready for the scheduler long before its GPUs are, and
// autoscalers then add too many nodes. They recognise starting nodes by a taint with a key of their
// own, so the key is configurable.

#include "operator/startup_taint.h"

#include <algorithm>

#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

Labels After(Labels labels, const NodeChange& change) {
  for (const auto& [key, value] : change.set) {
    labels[key] = value;
  }
  for (const std::string& key : change.remove) {
    labels.erase(key);
  }
  return labels;
}

}  // namespace

TaintChange DecideStartupTaint(const NodeFacts& node, const NodeChange& labels,
                               const LabelRules& rules, const std::string& key) {
  const auto has = [&node](const std::string& taint) {
    return std::ranges::find(node.taints, taint, &Taint::key) != node.taints.end();
  };
  TaintChange change;
  if (!node.startup_taint.empty() && node.startup_taint != key) {
    if (has(node.startup_taint)) {
      change.remove.push_back(node.startup_taint);
    }
    change.annotation = "";
  }
  if (key.empty()) {
    return change;
  }
  const Labels before = UnpackLabels(node.labels);
  const Labels after = After(before, labels);
  const std::string validation = ValueOf(after, names::kGpuValidation);
  const std::string deploy = ValueOf(after, names::kDeployValidator);
  const bool checked = rules.validated &&
                       (deploy == "true" || deploy.find(names::kDeployPaused) != std::string::npos);
  const bool gpus = ValueOf(after, names::kGpuPresent) == "true";
  const bool new_here = ValueOf(before, names::kGpuPresent) != "true";
  const bool wanted =
      gpus && checked && validation != names::kValidationReady && (!validation.empty() || new_here);
  const bool unwanted = !gpus || !checked || validation == names::kValidationReady;
  if (wanted && !has(key)) {
    change.add = key;
    change.annotation = key;
  } else if (unwanted && has(key) && (gpus || node.startup_taint == key)) {
    change.remove.push_back(key);
    if (!node.startup_taint.empty()) {
      change.annotation = "";
    }
  }
  return change;
}

void AddToPatch(const TaintChange& change, const Json& node, Json& patch) {
  Json taints = Json::array();
  bool there = false;
  const Json* patched = At(patch, "spec.taints");
  const Json* now = patched != nullptr ? patched : At(node, "spec.taints");
  if (now != nullptr && now->is_array()) {
    for (const Json& taint : *now) {
      const std::string key = TextAt(taint, "key");
      if (std::ranges::find(change.remove, key) == change.remove.end()) {
        taints.push_back(taint);
        there = there || key == change.add;
      }
    }
  }
  if (!change.add.empty() && !there) {
    taints.push_back({{"key", change.add}, {"effect", "NoSchedule"}});
  }
  patch["spec"]["taints"] = std::move(taints);
  Json& metadata = patch["metadata"];
  metadata["resourceVersion"] = TextAt(node, "metadata.resourceVersion");
  if (change.annotation.has_value()) {
    metadata["annotations"][names::kStartupTaint] =
        change.annotation->empty() ? Json(nullptr) : Json(*change.annotation);
  }
}

}  // namespace gantry::gpu_operator
