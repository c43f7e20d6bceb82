// SPDX-License-Identifier: Apache-2.0
// How does a program pause the operands that hold a node's GPUs? It changes their deploy labels
// from "true". The label keeps its value beside the mark of the pausing program, so that all
// operands come back, even if that program was killed.
#include "agent/pause.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::agent {
namespace {

// Suffixes of nvidia.com/gpu.deploy.: the operands that use the driver (contract: NVIDIA's driver
// manager pauses exactly these).
constexpr auto kPausable = std::to_array<std::string_view>(
    {"operator-validator", "container-toolkit", "device-plugin", "gpu-feature-discovery",
     "dcgm-exporter", "dcgm", "nvsm", "sandbox-validator", "sandbox-device-plugin",
     "vgpu-device-manager", "dra-validator", "dcgm-dra", "dcgm-exporter-dra", "mig-manager",
     "client"});

template <typename Change>
Labels Changed(const Labels& node, std::string_view own_label, const Change& change) {
  Labels changed;
  for (const auto& [key, value] : node) {
    const bool deploys =
        key.starts_with(names::kDeployPrefix) &&
        std::ranges::find(kPausable, std::string_view(key).substr(
                                         std::string_view(names::kDeployPrefix).size())) !=
            kPausable.end();
    if (!deploys && (own_label.empty() || key != own_label)) {
      continue;
    }
    if (std::string now = change(value); now != value) {
      changed[key] = std::move(now);
    }
  }
  return changed;
}

}  // namespace

std::string PausedValue(std::string_view value, std::string_view mark) {
  if (value.empty() || value == "false" || value.find(mark) != std::string_view::npos) {
    return std::string(value);
  }
  return value == "true" ? std::string(mark) : format("{}_{}", value, mark);
}

std::string ResumedValue(std::string_view value, std::string_view mark) {
  if (value == mark) {
    return "true";
  }
  const size_t at = value.find(mark);
  if (at == std::string_view::npos) {
    return std::string(value);
  }
  std::string rest = std::string(value.substr(0, at)) + std::string(value.substr(at + mark.size()));
  while (rest.starts_with('_')) {
    rest.erase(0, 1);
  }
  while (rest.ends_with('_')) {
    rest.pop_back();
  }
  return rest.empty() ? "true" : rest;
}

Labels PausedLabels(const Labels& node, std::string_view own_label, std::string_view mark) {
  return Changed(node, own_label,
                 [mark](std::string_view value) { return PausedValue(value, mark); });
}

Labels ResumedLabels(const Labels& node, std::string_view own_label, std::string_view mark) {
  return Changed(node, own_label,
                 [mark](std::string_view value) { return ResumedValue(value, mark); });
}

Labels LabelsOf(const Json& node) {
  Labels labels;
  if (const Json* const found = At(node, "metadata.labels"); found != nullptr) {
    for (const auto& [key, value] : found->items()) {
      labels[key] = value.is_string() ? value.get<std::string>() : "";
    }
  }
  return labels;
}

}  // namespace gantry::agent
