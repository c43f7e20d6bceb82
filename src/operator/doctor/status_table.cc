// SPDX-License-Identifier: Apache-2.0
// How does the state of a cluster's GPUs look at a glance? From the same facts as the findings.
#include "operator/doctor/status_table.h"

#include <algorithm>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

std::string LabelOr(const NodeFacts& node, const char* label, const char* fallback) {
  const auto at = node.labels.find(label);
  return at == node.labels.end() || at->second.empty() ? fallback : at->second;
}

// "8" or "7/8" a resource; "-" for none.
std::string Counts(const NodeFacts& node) {
  std::vector<std::string> parts;
  for (const auto& [resource, capacity] : node.capacity) {
    const auto at = node.allocatable.find(resource);
    const long long allocatable = at == node.allocatable.end() ? 0 : at->second;
    const std::string name = resource.substr(resource.find('/') + 1);
    parts.push_back(allocatable == capacity ? format("{}={}", name, capacity)
                                            : format("{}={}/{}", name, allocatable, capacity));
  }
  return parts.empty() ? "-" : Join(parts, ",");
}

bool IsGpuNode(const NodeFacts& node) {
  return LabelOr(node, names::kGpuPresent, "") == "true" || !node.capacity.empty();
}

}  // namespace

std::string Aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += format("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string StatusText(const ClusterFacts& cluster) {
  std::string text;
  for (const PolicyFacts& policy : cluster.policies) {
    text += format("ClusterPolicy {}: {}\n", policy.name,
                   policy.state.empty() ? "not looked at yet" : policy.state);
  }
  if (cluster.policies.empty()) {
    text += "no ClusterPolicy\n";
  }
  std::vector<std::vector<std::string>> operands = {{"OPERAND", "READY"}};
  for (const OperandFacts& operand : cluster.operands) {
    operands.push_back({operand.name, format("{}/{}", operand.ready, operand.desired)});
  }
  std::vector<std::vector<std::string>> nodes = {
      {"NODE", "READY", "ALLOCATABLE", "PRODUCT", "DRIVER", "CUDA"}};
  for (const NodeFacts& node : cluster.nodes) {
    if (IsGpuNode(node)) {
      nodes.push_back({node.name, node.ready ? "yes" : "no", Counts(node),
                       LabelOr(node, names::kGpuProduct, "-"),
                       LabelOr(node, names::kCudaDriverVersionFull, "-"),
                       LabelOr(node, names::kCudaRuntimeVersionFull, "-")});
    }
  }
  text += operands.size() > 1 ? "\n" + Aligned(operands) : "";
  text += nodes.size() > 1 ? "\n" + Aligned(nodes) : "\nno node with a GPU\n";
  return text;
}

}  // namespace gantry::doctor
