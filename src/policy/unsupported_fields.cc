// SPDX-License-Identifier: Apache-2.0

// Which fields of a ClusterPolicy have an effect in NVIDIA's operator but not here? The ones below,
// each with the switch that enables it. Fields that NVIDIA's operator also ignores are not listed.

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "policy/cluster_policy.h"
#include "policy/dra_gates.h"
#include "policy/operands.h"

namespace gantry::policy {
namespace {

// Fields, or everything below them ("a.").
constexpr std::array kNotActedOn = std::to_array<const char*>({
    "driver.livenessProbe.",  // unloading a slow driver does not help
    "driver.readinessProbe.",
    "draDriver.computeDomains.",
    // The driver serves no port; it ends if it can't work.
    "draDriver.gpus.kubeletPlugin.healthcheck.",
});

// Only NVIDIA's MIG manager stops the clients in it.
constexpr std::string_view kGpuClients = "migManager.gpuClientsConfig.name";

// Gantry's VFIO manager needs no program before it that removes a driver and evicts pods: it leaves
// a GPU that is in use.
constexpr std::array kVfioDriverManager = std::to_array<std::string_view>({
    "vfioManager.driverManager.repository",
    "vfioManager.driverManager.image",
    "vfioManager.driverManager.version",
});

// Variables that ask for what Gantry's operand does not do: a node is not rebooted, no host service
// is stopped, and no pod is evicted.
constexpr std::array kMigRequests = std::to_array<const char*>({
    "WITH_REBOOT",
    "WITH_SHUTDOWN_HOST_GPU_CLIENTS",
});
constexpr std::array kVfioRequests = std::to_array<const char*>({
    "ENABLE_AUTO_DRAIN",
    "ENABLE_GPU_POD_EVICTION",
});

// "migManager.env.WITH_REBOOT" for each of the names that is true.
std::vector<std::string> Requests(std::string_view path, const EnvVars& variables,
                                  std::span<const char* const> names) {
  std::vector<std::string> fields;
  for (const char* name : names) {
    const auto asked = std::ranges::find(variables, name, &EnvVars::value_type::first);
    if (asked != variables.end() && ParseBool(asked->second).value_or(false)) {
      fields.push_back(format("{}.{}", path, name));
    }
  }
  return fields;
}

// "draDriver.featureGates.DynamicMIG" for each that is true and not served.
std::vector<std::string> DraGates(const ClusterPolicy& policy) {
  std::vector<std::string> fields;
  for (const auto& [gate, on] : policy.dra_gates) {
    if (on && DraGateNamed(gate) == DraGate::kNotServed) {
      fields.push_back(format("draDriver.featureGates.{}", gate));
    }
  }
  return fields;
}

std::vector<std::string> RequestsOf(const Operand& operand, const ClusterPolicy& policy) {
  if (operand.id == OperandId::kMigManager && policy.mig_manager.image.image.empty()) {
    return Requests("migManager.env", policy.mig_manager.env, kMigRequests);
  }
  // With NVIDIA's MIG manager what happens to holders is its own business.
  if (operand.id == OperandId::kMigManager && policy.gpu_holders.action != HolderAction::kFail) {
    return {"migManager.gpuHolders"};
  }
  if (operand.id == OperandId::kVfioManager && policy.vfio_manager.image.image.empty()) {
    return Requests("vfioManager.driverManager.env", policy.vfio_driver_manager.env, kVfioRequests);
  }
  if (operand.id == OperandId::kDraDriver) {
    return DraGates(policy);
  }
  return {};
}

bool NotActedOn(std::string_view path, const ClusterPolicy& policy) {
  return (path == kGpuClients && policy.mig_manager.image.image.empty()) ||
         (std::ranges::find(kVfioDriverManager, path) != kVfioDriverManager.end() &&
          policy.vfio_manager.image.image.empty()) ||
         std::ranges::any_of(kNotActedOn, [&](std::string_view listed) {
           return listed.ends_with('.') ? path.starts_with(listed) : path == listed;
         });
}

// Whether the value requests nothing.
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
      if (operand != nullptr) {
        const std::vector<std::string> requests = RequestsOf(*operand, *policy);
        fields.insert(fields.end(), requests.begin(), requests.end());
      }
    } else if (Wanted(*operand, *policy) && operand->runs != Runs::kSpare) {
      fields.push_back(section);
    }
  }
  return fields;
}

}  // namespace gantry::policy
