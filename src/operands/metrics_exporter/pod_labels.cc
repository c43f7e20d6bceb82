// SPDX-License-Identifier: Apache-2.0
// Which labels of a pod do its series get, and under which names? A name of Prometheus has no dots,
// hyphens and slashes, and what a series says of a GPU no pod may overwrite.
#include "operands/metrics_exporter/pod_labels.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

constexpr auto kOwn = std::to_array<std::string_view>(
    {"gpu",           "UUID",          "uuid",      "pci_bus_id",  "device",
     "modelName",     "GPU_I_PROFILE", "GPU_I_ID",  "GPU_CI_ID",   "Hostname",
     "hostname",      "container",     "namespace", "pod",         "container_name",
     "pod_namespace", "pod_name",      "pod_uid",   "vgpu",        "share",
     "hpc_job",       "xid",           "err_code",  "err_msg",     "window_size_in_ms",
     "clock_event",   "health_watch",  "peer_gpu",  "link_status", "health_error_code",
     "nvlink",        "nvswitch",      "gpu_uuid",  "model_name",  "cpu",
     "cpucore",       "cpu_serial"});
constexpr auto kOwnBeginnings = std::to_array<std::string_view>({"DCGM_", "dra_", "__"});

}  // namespace

Result<LabelFilter> LabelFilter::Parse(const std::vector<std::string>& expressions) {
  LabelFilter filter;
  for (const std::string& expression : expressions) {
    auto parsed = std::make_shared<const re2::RE2>(expression, re2::RE2::Quiet);
    if (!parsed->ok()) {
      return Fail(ErrorKind::kInvalid,
                  format("\"{}\" is not a regular expression: {}", expression, parsed->error()));
    }
    filter.expressions_.push_back(std::move(parsed));
  }
  return filter;
}

bool LabelFilter::Wants(const std::string& key) const {
  return expressions_.empty() || std::ranges::any_of(expressions_, [&](const auto& one) {
           return re2::RE2::PartialMatch(key, *one);
         });
}

std::string SeriesLabelName(std::string_view key) {
  std::string name(key);
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  if (!name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
    name.insert(name.begin(), '_');
  }
  return name;
}

bool IsSeriesLabel(std::string_view name) {
  return std::ranges::find(kOwn, name) != kOwn.end() ||
         std::ranges::any_of(kOwnBeginnings,
                             [&](std::string_view one) { return name.starts_with(one); });
}

gpu::PodLabels SeriesLabels(const Json& pod, const LabelFilter& filter) {
  gpu::PodLabels labels;
  const Json* all = At(pod, "metadata.labels");
  if (all == nullptr || !all->is_object()) {
    return labels;
  }
  for (const auto& [key, value] : all->items()) {
    if (!value.is_string() || !filter.Wants(key)) {
      continue;
    }
    std::string name = SeriesLabelName(key);
    const bool taken =
        std::ranges::any_of(labels, [&](const auto& one) { return one.first == name; });
    if (!name.empty() && !taken && !IsSeriesLabel(name)) {
      labels.emplace_back(std::move(name), value.get<std::string>());
    }
  }
  std::ranges::sort(labels);
  return labels;
}

}  // namespace gantry::metrics_exporter
