// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "gpu/pod_gpus.h"

namespace re2 {
class RE2;
}  // namespace re2

// The labels of pods as labels of series.
namespace gantry::metrics_exporter {

// Which labels of a pod are wanted, by their keys: those in which any of the expressions is found;
// without expressions all.
class LabelFilter {
 public:
  // kInvalid names the expression (RE2's syntax, as Go's and dcgm-exporter's).
  static Result<LabelFilter> Parse(const std::vector<std::string>& expressions);
  [[nodiscard]] bool Wants(const std::string& key) const;

 private:
  std::vector<std::shared_ptr<const re2::RE2>> expressions_;
};

// "app.kubernetes.io/name" -> "app_kubernetes_io_name".
std::string SeriesLabelName(std::string_view key);

// Whether series have a label of this name themselves.
bool IsSeriesLabel(std::string_view name);

// Those of `metadata.labels` that are wanted, by name: never a name that series have already, and
// of two keys that come to one name the first.
gpu::PodLabels SeriesLabels(const Json& pod, const LabelFilter& filter);

}  // namespace gantry::metrics_exporter
