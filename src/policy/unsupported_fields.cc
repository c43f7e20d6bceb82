// SPDX-License-Identifier: Apache-2.0

// What of a ClusterPolicy makes no difference here though somebody wrote it to make one? Everything
// is acted on but the fields below, each with the switch that would turn it on. What NVIDIA's
// operator accepts and ignores too is not named.

#include <algorithm>
#include <array>

#include "base/text.h"
#include "policy/cluster_policy.h"
#include "policy/operands.h"

namespace gantry::policy {
namespace {

// Fields, or everything below them ("a.").
constexpr std::array kNotActedOn = std::to_array<const char*>({
    "driver.livenessProbe.",  // a driver that is slow to answer is not helped by being unloaded
    "driver.readinessProbe.",
});

// What NVIDIA's exporter acts on, and this release's does not.
constexpr std::array kNotOfOurExporter = std::to_array<const char*>({
    "dcgmExporter.enablePodLabels",
    "dcgmExporter.enablePodUID",
    "dcgmExporter.podLabelAllowlistRegex",
    "dcgmExporter.hpcJobMapping.enabled",
});

bool NotActedOn(std::string_view path, const ClusterPolicy& policy) {
  const auto is_listed = [&](std::string_view listed) {
    return listed.ends_with('.') ? path.starts_with(listed) : path == listed;
  };
  const bool our_exporter = policy.dcgm_exporter.image.image.empty();
  return std::ranges::any_of(kNotActedOn, is_listed) ||
         (our_exporter && std::ranges::any_of(kNotOfOurExporter, is_listed));
}

// Whether the value asks for nothing.
bool Neutral(const Json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return value.is_null() || value == false || (text != nullptr && text->empty()) ||
         (value.is_structured() && value.empty());
}

void Collect(const std::string& path, const Json& value, const ClusterPolicy& policy,
             std::vector<std::string>& out) {
  if (Neutral(value)) {
    return;
  }
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      Collect(format("{}.{}", path, key), item, policy, out);
    }
  } else if (NotActedOn(path, policy)) {
    out.push_back(path);
  }
}

}  // namespace

std::vector<std::string> UnsupportedFields(const Json& object) {
  std::vector<std::string> fields;
  const Json* spec = At(object, "spec");
  const Result<ClusterPolicy> policy = Parse(object);
  if (spec == nullptr || !spec->is_object() || !policy.has_value()) {
    return fields;
  }
  for (const auto& [section, value] : spec->items()) {
    const Operand* operand = OperandOfSection(section);
    if (operand == nullptr || CanRun(*operand, *policy)) {
      Collect(section, value, *policy, fields);
    } else if (Wanted(*operand, *policy) && operand->runs != Runs::kSpare) {
      fields.push_back(section);
    }
  }
  return fields;
}

}  // namespace gantry::policy
