// SPDX-License-Identifier: Apache-2.0
// How are facts converted to JSON and back? The reader accepts absent fields (a golden test writes
// only the relevant ones) and rejects wrong types.
#include "operands/gpu_features/facts.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace gantry::gpu_features {
namespace {

constexpr const char* kMigNames[] = {"unsupported", "disabled", "enabled"};

constexpr std::pair<const char*, unsigned nvml::MigAttributes::*> kMigNumbers[] = {
    {"gpuSlices", &nvml::MigAttributes::gpu_slices},
    {"computeSlices", &nvml::MigAttributes::compute_slices},
    {"multiprocessors", &nvml::MigAttributes::multiprocessors},
    {"copyEngines", &nvml::MigAttributes::copy_engines},
    {"decoders", &nvml::MigAttributes::decoders},
    {"encoders", &nvml::MigAttributes::encoders},
    {"jpegEngines", &nvml::MigAttributes::jpeg_engines},
    {"ofaEngines", &nvml::MigAttributes::ofa_engines},
};

Json MigToJson(const nvml::MigDevice& device) {
  Json json = {{"index", device.index},
               {"uuid", device.uuid},
               {"profile", device.profile},
               {"memoryMib", device.attributes.memory_mib}};
  for (const auto& [name, number] : kMigNumbers) {
    json[name] = device.attributes.*number;
  }
  return json;
}

nvml::MigDevice MigDeviceFrom(const Json& json, unsigned index) {
  nvml::MigDevice device;
  device.index = json.value("index", index);
  device.uuid = json.value("uuid", "");
  device.profile = json.at("profile").get<std::string>();
  device.attributes.memory_mib = json.value("memoryMib", uint64_t{0});
  for (const auto& [name, number] : kMigNumbers) {
    device.attributes.*number = json.value(name, 0U);
  }
  return device;
}

Json DeviceToJson(const nvml::Device& device) {
  Json json = {{"index", device.index},
               {"minor", device.minor},
               {"uuid", device.uuid},
               {"name", device.name},
               {"brand", device.brand},
               {"pciBusId", device.pci_bus_id},
               {"memoryBytes", device.memory_bytes},
               {"computeMajor", device.compute_major},
               {"computeMinor", device.compute_minor},
               {"numaNode", device.numa_node},
               {"mig", kMigNames[static_cast<int>(device.mig)]}};
  for (const nvml::MigDevice& part : device.mig_devices) {
    json["migDevices"].push_back(MigToJson(part));
  }
  if (device.fabric.has_value()) {
    json["fabric"] = {{"clusterUuid", device.fabric->cluster_uuid},
                      {"cliqueId", device.fabric->clique_id}};
  }
  return json;
}

nvml::MigMode MigFrom(const std::string& name) {
  for (int i = 0; i < 3; ++i) {
    if (name == kMigNames[i]) {
      return static_cast<nvml::MigMode>(i);
    }
  }
  return nvml::MigMode::kUnsupported;
}

nvml::Device DeviceFrom(const Json& json, unsigned index) {
  nvml::Device device;
  device.index = json.value("index", index);
  device.minor = json.value("minor", index);
  device.uuid = json.value("uuid", "");
  device.name = json.value("name", "");
  device.brand = json.value("brand", "");
  device.pci_bus_id = json.value("pciBusId", "");
  device.memory_bytes = json.value("memoryBytes", uint64_t{0});
  device.compute_major = json.value("computeMajor", 0);
  device.compute_minor = json.value("computeMinor", 0);
  device.numa_node = json.value("numaNode", -1);
  device.mig = MigFrom(json.value("mig", ""));
  for (const Json& part : json.value("migDevices", Json::array())) {
    device.mig_devices.push_back(
        MigDeviceFrom(part, static_cast<unsigned>(device.mig_devices.size())));
  }
  if (const auto fabric = json.find("fabric"); fabric != json.end()) {
    device.fabric = nvml::Fabric{fabric->at("clusterUuid").get<std::string>(),
                                 fabric->at("cliqueId").get<unsigned>()};
  }
  return device;
}

bool HasFraction(const Json& json) {
  return json.is_number_float() || (json.is_structured() && std::ranges::any_of(json, HasFraction));
}

}  // namespace

Json ToJson(const Facts& facts) {
  Json json = {{"driverVersion", facts.driver_version},
               {"cudaVersion", facts.cuda_version},
               {"gpus", Json::array()},
               {"failedGpus", facts.failed_gpus},
               {"machine", facts.machine},
               {"pciClasses", facts.pci_classes},
               {"configSpaceReadable", facts.config_space_readable}};
  for (const nvml::Device& device : facts.gpus) {
    json["gpus"].push_back(DeviceToJson(device));
  }
  if (facts.vgpu.has_value()) {
    json["vgpu"] = {{"driverVersion", facts.vgpu->driver_version},
                    {"driverBranch", facts.vgpu->driver_branch}};
  }
  return json;
}

Result<Facts> FactsFromJson(const Json& json) {
  if (HasFraction(json)) {
    return Fail(ErrorKind::kInvalid, "read facts: a number is not whole");
  }
  try {
    Facts facts;
    facts.driver_version = json.value("driverVersion", "");
    facts.cuda_version = json.value("cudaVersion", 0);
    for (const Json& device : json.value("gpus", Json::array())) {
      facts.gpus.push_back(DeviceFrom(device, static_cast<unsigned>(facts.gpus.size())));
    }
    facts.failed_gpus = json.value("failedGpus", 0);
    facts.machine = json.value("machine", "");
    facts.pci_classes = json.value("pciClasses", std::map<std::string, int>{});
    facts.config_space_readable = json.value("configSpaceReadable", false);
    if (const auto vgpu = json.find("vgpu"); vgpu != json.end()) {
      facts.vgpu = gpu::VgpuHost{vgpu->at("driverVersion").get<std::string>(),
                                 vgpu->at("driverBranch").get<std::string>()};
    }
    return facts;
  } catch (const Json::exception& exception) {
    return Fail(ErrorKind::kInvalid, format("read facts: {}", exception.what()));
  }
}

}  // namespace gantry::gpu_features
