// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "operator/node_labels.h"

namespace gantry::gpu_operator {

// Collects changes to labels, and shows the resulting labels.
class LabelEditor {
 public:
  explicit LabelEditor(Labels labels) : labels_(std::move(labels)) {}
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
  // An empty annotation is removed.
  void Annotate(const std::string& key, std::string value) {
    change.annotations[key] = value.empty() ? std::nullopt : std::optional(std::move(value));
  }
  [[nodiscard]] const Labels& labels() const { return labels_; }
  NodeChange change;

 private:
  Labels labels_;
};

}  // namespace gantry::gpu_operator
