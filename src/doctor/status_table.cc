// SPDX-License-Identifier: Apache-2.0
// How does `gantry status` show a cluster's GPUs? From the same facts as the findings.
#include "doctor/status_table.h"

#include <algorithm>

#include "base/text.h"
#include "doctor/node_stage.h"
#include "kube/shortened.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

std::string LabelOr(const NodeFacts& node, const char* label, const char* fallback) {
  const std::string value = ValueOf(node, label);
  return value.empty() ? fallback : value;
}

// "8" or "7/8" of a resource, and the devices for resource claims; "-" for none.
std::string Counts(const ClusterFacts& cluster, const NodeFacts& node) {
  std::vector<std::string> parts;
  if (cluster.devices.has_value()) {
    const auto at = cluster.devices->find(node.name);
    parts.push_back(format("devices={}", at == cluster.devices->end() ? 0 : at->second));
  }
  for (const auto& [resource, capacity] : node.capacity) {
    const auto at = node.allocatable.find(resource);
    const long long allocatable = at == node.allocatable.end() ? 0 : at->second;
    const std::string name = resource.substr(resource.find('/') + 1);
    parts.push_back(allocatable == capacity ? format("{}={}", name, capacity)
                                            : format("{}={}/{}", name, allocatable, capacity));
  }
  return parts.empty() ? "-" : Join(parts, ",");
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

// Over all nodes whose driver is not upgraded yet.
std::string UpgradesText(const UpgradesFacts& upgrades) {
  if (upgrades.nodes.empty()) {
    return "";
  }
  std::string text = format(
      "\nDriver upgrades: {} of {} done, {} in progress, {} failed, {} pending\n", upgrades.done,
      upgrades.total, upgrades.in_progress, upgrades.failed, upgrades.pending);
  std::vector<std::vector<std::string>> rows = {
      {"NODE", "STATE", "SINCE", "DEADLINE", "NEXT", "REASON"}};
  for (const UpgradeFacts& node : upgrades.nodes) {
    rows.push_back({node.node, node.state, OrDash(node.since), OrDash(node.deadline),
                    OrDash(node.next), OrDash(node.reason)});
  }
  return text + Aligned(rows);
}

// Changes of MIG layouts that pods or processes hold up, by the operator's condition of the Node.
std::string MigChangesText(const ClusterFacts& cluster) {
  std::vector<std::vector<std::string>> rows = {{"NODE", "STATE", "SINCE", "REASON"}};
  for (const NodeFacts& node : cluster.nodes) {
    if (!node.mig_held.empty()) {
      rows.push_back({node.name, OrDash(ValueOf(node, names::kMigConfigState)),
                      OrDash(node.mig_held_since), node.mig_held});
    }
  }
  return rows.size() > 1 ? "\nMIG changes\n" + Aligned(rows) : "";
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
  const StagedCluster staged(cluster);
  std::string text;
  for (const PolicyFacts& policy : cluster.policies) {
    text += format("{}: {}\n", policy.object,
                   policy.state.empty() ? "not reconciled yet" : policy.state);
  }
  if (cluster.policies.empty()) {
    text += "no ClusterPolicy\n";
  }
  std::vector<std::vector<std::string>> operands = {{"OPERAND", "READY"}};
  for (const OperandFacts& operand : cluster.operands) {
    operands.push_back({operand.name, format("{}/{}", operand.ready, operand.desired)});
  }
  std::vector<std::vector<std::string>> nodes = {
      {"NODE", "STAGE", "ALLOCATABLE", "PRODUCT", "DRIVER", "CUDA"}};
  for (const NodeFacts& node : cluster.nodes) {
    if (HasGpu(node) || !node.capacity.empty()) {
      nodes.push_back({node.name, StageName(node, staged.Of(node)), Counts(cluster, node),
                       LabelOr(node, names::kGpuProduct, "-"),
                       LabelOr(node, names::kCudaDriverVersionFull, "-"),
                       LabelOr(node, names::kCudaRuntimeVersionFull, "-")});
    }
  }
  text += operands.size() > 1 ? "\n" + Aligned(operands) : "";
  text += nodes.size() > 1 ? "\n" + Aligned(nodes) : "\nno node with a GPU\n";
  text += MigChangesText(cluster);
  for (const PolicyFacts& policy : cluster.policies) {
    text += UpgradesText(policy.upgrades.value_or(UpgradesFacts()));
  }
  return text;
}

// Control sequences of ECMA-48: home, erase to the end of the line, erase to the end of the screen.
std::string Screen(std::string_view text, size_t rows, size_t columns) {
  std::vector<std::string> lines = Split(text, '\n');
  if (!lines.empty() && lines.back().empty()) {
    lines.pop_back();
  }
  if (rows > 0 && lines.size() > rows) {
    const size_t hidden = lines.size() - rows + 1;
    lines.resize(rows - 1);
    lines.push_back(format("... and {} lines more", hidden));
  }
  std::string screen = "\x1b[H";
  for (size_t i = 0; i < lines.size(); ++i) {
    screen += columns > 0 ? kube::Shortened(lines[i], columns) : lines[i];
    // A line break in the last row would scroll.
    screen += i + 1 < lines.size() ? "\x1b[K\r\n" : "\x1b[K";
  }
  return screen + "\x1b[J";
}

}  // namespace gantry::doctor
