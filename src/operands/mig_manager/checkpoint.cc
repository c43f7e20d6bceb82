// SPDX-License-Identifier: Apache-2.0
// How is a layout written down so that it can be made again? With the profiles' numbers of NVML,
// which no driver names differently, and each GPU instance's place.
#include "operands/mig_manager/checkpoint.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/text.h"
#include "gpu/mig_placement.h"

namespace gantry::mig_manager {
namespace {

// Slices by NVML_COMPUTE_INSTANCE_PROFILE_*. The last two are variants.
constexpr std::array<unsigned, 9> kSlices = {1, 2, 3, 4, 7, 8, 6, 1, 7};

Json InstanceJson(const nvml::MigGpu& gpu, const nvml::GpuInstance& instance) {
  Json compute = Json::array();
  for (const nvml::ComputeInstance& one : instance.compute) {
    const auto* profile = std::ranges::find(kSlices, one.slices);
    compute.push_back({{"ProfileID", profile - kSlices.begin()}, {"EngProfileID", 0}});
  }
  return {{"ProfileID", gpu::ProfileOf(gpu, instance).number},
          {"Placement", {{"Start", instance.start}, {"Size", instance.size}}},
          {"ComputeInstances", std::move(compute)}};
}

// The value of a key, as Go's decoder finds it: upper and lower case are one.
const Json* Find(const Json& map, std::string_view key) {
  if (!map.is_object()) {
    return nullptr;
  }
  for (const auto& [name, value] : map.items()) {
    if (Lower(name) == Lower(key)) {
      return &value;
    }
  }
  return nullptr;
}

std::unexpected<Error> Wrong(const std::string& path, std::string_view reason) {
  return Fail(ErrorKind::kInvalid, format("checkpoint: {}: {}", path, reason));
}

Result<unsigned> NumberAt(const Json& map, std::string_view key, const std::string& path) {
  const Json* value = Find(map, key);
  if (value == nullptr || !value->is_number_integer() || value->get<long long>() < 0 ||
      value->get<long long>() > 1023) {
    return Wrong(format("{}.{}", path, key), "not a number from 0 to 1023");
  }
  return value->get<unsigned>();
}

// A null list is empty, as Go writes one.
Result<Json> ListIn(const Json& map, std::string_view key, const std::string& path) {
  const Json* value = Find(map, key);
  if (value == nullptr || value->is_null()) {
    return Json::array();
  }
  return value->is_array() ? Result<Json>(*value) : Wrong(format("{}.{}", path, key), "not a list");
}

Result<gpu::MigRequest> ParseInstance(const Json& instance, const std::string& path) {
  gpu::MigRequest request;
  TRY_ASSIGN(request.profile, NumberAt(instance, "ProfileID", path));
  const Json* placement = Find(instance, "Placement");
  if (placement == nullptr) {
    return Wrong(path + ".Placement", "missing");
  }
  TRY_ASSIGN(request.start, NumberAt(*placement, "Start", path + ".Placement"));
  TRY_ASSIGN(const Json compute, ListIn(instance, "ComputeInstances", path));
  for (size_t i = 0; i < compute.size(); ++i) {
    const std::string at = format("{}.ComputeInstances[{}]", path, i);
    TRY_ASSIGN(const unsigned profile, NumberAt(compute[i], "ProfileID", at));
    if (profile >= kSlices.size()) {
      return Wrong(at + ".ProfileID", "no such profile of compute instances");
    }
    request.compute.push_back(kSlices.at(profile));
  }
  std::ranges::sort(request.compute, std::greater());
  return request;
}

Result<std::pair<std::string, gpu::MigLayout>> ParseDevice(const Json& device,
                                                           const std::string& path) {
  const Json* uuid = Find(device, "UUID");
  if (uuid == nullptr || !uuid->is_string()) {
    return Wrong(path + ".UUID", "not a string");
  }
  gpu::MigLayout layout;
  TRY_ASSIGN(const unsigned mode, NumberAt(device, "MigMode", path));
  layout.enabled = mode == NVML_DEVICE_MIG_ENABLE;
  TRY_ASSIGN(const Json instances, ListIn(device, "GpuInstances", path));
  for (size_t i = 0; i < instances.size(); ++i) {
    TRY_ASSIGN(layout.instances.emplace_back(),
               ParseInstance(instances[i], format("{}.GpuInstances[{}]", path, i)));
  }
  return std::pair(uuid->get<std::string>(), std::move(layout));
}

}  // namespace

Json CheckpointOf(std::span<const nvml::MigGpu> gpus) {
  Json devices = Json::array();
  for (const nvml::MigGpu& gpu : gpus) {
    if (!gpu.capable) {
      continue;
    }
    Json instances = Json::array();
    for (const nvml::GpuInstance& instance : gpu.instances) {
      instances.push_back(InstanceJson(gpu, instance));
    }
    devices.push_back({{"UUID", gpu.uuid},
                       {"MigMode", gpu.enabled ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE},
                       {"GpuInstances", std::move(instances)}});
  }
  return {{"Version", "v1"}, {"MigState", {{"Devices", std::move(devices)}}}};
}

Result<std::map<std::string, gpu::MigLayout>> LayoutsIn(const Json& checkpoint) {
  const Json* version = Find(checkpoint, "Version");
  if (version == nullptr || *version != "v1") {
    return Wrong("Version", "must be v1");
  }
  const Json* state = Find(checkpoint, "MigState");
  if (state == nullptr || !state->is_object()) {
    return Wrong("MigState", "not a map");
  }
  TRY_ASSIGN(const Json devices, ListIn(*state, "Devices", "MigState"));
  std::map<std::string, gpu::MigLayout> layouts;
  for (size_t i = 0; i < devices.size(); ++i) {
    TRY_ASSIGN(auto device, ParseDevice(devices[i], format("MigState.Devices[{}]", i)));
    layouts.insert(std::move(device));
  }
  return layouts;
}

Result<std::map<std::string, gpu::MigLayout>> ParseCheckpoint(std::string_view text) {
  TRY_ASSIGN(const Json checkpoint, ParseJson(text));
  return LayoutsIn(checkpoint);
}

}  // namespace gantry::mig_manager
