// SPDX-License-Identifier: Apache-2.0
// What does a container get for the devices that the kubelet chose? The wire forms are NVIDIA's:
// CDI names in the kubelet's own field and in an annotation, NVIDIA_VISIBLE_DEVICES for the runtime
// hook, or volume mounts of /dev/null. Several shares of one GPU name it once.
#include "operands/device_plugin/allocate.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::device_plugin {
namespace {

constexpr char kVolumeRoot[] = "/var/run/nvidia-container-devices";

// FNV-1a: the same devices give the same annotation, another set another one, so that annotations
// of two resources in one container don't collide.
std::string Fingerprint(const std::vector<std::string>& names) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const auto& name : names) {
    for (const char c : name + "\n") {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
  }
  return format("{:016x}", hash);
}

Result<std::vector<const Gpu*>> GpusOf(const Resource& resource,
                                       const std::vector<std::string>& ids) {
  std::vector<const Gpu*> gpus;
  for (const auto& id : ids) {
    if (std::ranges::find(resource.devices, id, &kubelet::Device::id) == resource.devices.end()) {
      return Fail(
          ErrorKind::kInvalid,
          format("invalid allocation request for '{}': unknown device: {}", resource.name, id));
    }
    const auto gpu = std::ranges::find(resource.gpus, UuidOf(id), &Gpu::uuid);
    CHECK(gpu != resource.gpus.end());
    if (std::ranges::find(gpus, &*gpu) == gpus.end()) {
      gpus.push_back(&*gpu);
    }
  }
  return gpus;
}

void AddCdi(const Settings& settings, const std::vector<std::string>& names,
            kubelet::Allocation& allocation) {
  std::vector<std::string> qualified;
  qualified.reserve(names.size());
  for (const auto& name : names) {
    qualified.push_back(format("{}={}", names::kDevicePluginCdiKind, name));
  }
  if (settings.list_strategies.contains(ListStrategy::kCdiAnnotations)) {
    allocation.annotations.emplace_back(
        format("{}nvidia-device-plugin_{}", settings.cdi_annotation_prefix, Fingerprint(names)),
        Join(qualified, ","));
  }
  if (settings.list_strategies.contains(ListStrategy::kCdiCri)) {
    allocation.cdi_devices = std::move(qualified);
  }
}

void AddDeviceNodes(const Settings& settings, const std::set<std::string>& present,
                    const std::vector<const Gpu*>& gpus, kubelet::Allocation& allocation) {
  const auto add = [&](const std::string& path) {
    const std::string root = settings.driver.dev_root == "/" ? "" : settings.driver.dev_root;
    allocation.devices.push_back(
        {.container_path = path, .host_path = root + path, .permissions = "rw"});
  };
  for (const auto& path : ControlNodes()) {
    if (present.contains(path)) {
      add(path);
    }
  }
  for (const auto* gpu : gpus) {
    add(format("/dev/nvidia{}", gpu->minor));
  }
}

}  // namespace

const std::vector<std::string>& ControlNodes() {
  static const std::vector<std::string> nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm",
                                                 "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"};
  return nodes;
}

Result<kubelet::Allocation> Allocate(const Resource& resource, const Settings& settings,
                                     const std::set<std::string>& nodes_present,
                                     const std::vector<std::string>& ids) {
  TRY_ASSIGN(const auto gpus, GpusOf(resource, ids));
  if (ids.size() > 1 && settings.sharing.fail_requests_greater_than_one &&
      std::ranges::any_of(ids, IsReplica)) {
    return Fail(ErrorKind::kInvalid,
                format("invalid allocation request for '{}': maximum request size for shared "
                       "resources is 1; found {}",
                       resource.name, ids.size()));
  }
  std::vector<std::string> names;
  names.reserve(gpus.size());
  for (const auto* gpu : gpus) {
    names.push_back(settings.id_strategy == IdStrategy::kUuid ? gpu->uuid
                                                              : format("{}", gpu->index));
  }
  kubelet::Allocation allocation;
  AddCdi(settings, names, allocation);
  const bool by_env = settings.list_strategies.contains(ListStrategy::kEnvVar);
  const bool by_mounts = settings.list_strategies.contains(ListStrategy::kVolumeMounts);
  if (!by_env && !by_mounts) {
    return allocation;
  }
  allocation.envs.emplace_back(names::kVisibleDevices, by_mounts ? kVolumeRoot : Join(names, ","));
  if (by_mounts) {
    for (const auto& name : names) {
      allocation.mounts.push_back({.container_path = format("{}/{}", kVolumeRoot, name),
                                   .host_path = "/dev/null",
                                   .read_only = false});
    }
  }
  if (settings.pass_device_specs) {
    AddDeviceNodes(settings, nodes_present, gpus, allocation);
  }
  return allocation;
}

}  // namespace gantry::device_plugin
