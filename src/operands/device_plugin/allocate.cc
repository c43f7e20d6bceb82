// SPDX-License-Identifier: Apache-2.0
// What does a container get for the devices that the kubelet allocated? The wire forms are
// NVIDIA's: CDI names in the kubelet's own field and in an annotation, NVIDIA_VISIBLE_DEVICES for
// the runtime hook, or volume mounts of /dev/null. Several shares of one GPU name it once.
#include "operands/device_plugin/allocate.h"

#include <algorithm>
#include <cstdint>

#include "base/paths.h"
#include "base/text.h"
#include "gpu/device_id.h"
#include "policy/names.h"

namespace gantry::device_plugin {
namespace {

constexpr char kVolumeRoot[] = "/var/run/nvidia-container-devices";

using Units = std::vector<const Unit*>;
using Names = std::vector<std::string>;

// FNV-1a: equal sets of devices give equal annotations, different sets different ones, so that
// annotations of two resources in one container don't collide.
std::string Fingerprint(const Names& names) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const auto& name : names) {
    for (const char c : name + "\n") {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
  }
  return format("{:016x}", hash);
}

Result<Units> UnitsOf(const Resource& resource, const std::vector<std::string>& ids) {
  Units units;
  for (const auto& id : ids) {
    const auto* unit = resource.UnitOf(id);
    if (unit != nullptr && resource.withdrawn.contains(unit->gpu_uuid)) {
      return Fail(ErrorKind::kUnavailable,
                  format("{}: GPU {} is withdrawn: {}; create the pod again after that",
                         resource.name, unit->gpu_uuid, resource.withdrawn.at(unit->gpu_uuid)));
    }
    if (unit == nullptr ||
        std::ranges::find(resource.devices, id, &kubelet::Device::id) == resource.devices.end()) {
      return Fail(
          ErrorKind::kInvalid,
          format("invalid allocation request for '{}': unknown device: {}", resource.name, id));
    }
    if (std::ranges::find(units, unit) == units.end()) {
      units.push_back(unit);
    }
  }
  return units;
}

std::string CdiName(std::string_view device_class, std::string_view name) {
  return format("{}/{}={}", names::kDevicePluginCdiVendor, device_class, name);
}

void AddCdi(const Settings& settings, const Beside& beside, const Names& ids,
            kubelet::Allocation& allocation) {
  Names qualified;
  qualified.reserve(ids.size());
  for (const auto& id : ids) {
    qualified.push_back(CdiName("gpu", id));
  }
  for (const int channel : beside.imex_channels) {
    qualified.push_back(CdiName("imex-channel", format("{}", channel)));
  }
  for (const auto& mode : beside.modes) {
    qualified.push_back(CdiName(mode, "all"));
  }
  if (settings.list_strategies.contains(ListStrategy::kCdiAnnotations)) {
    allocation.annotations.emplace_back(
        format("{}nvidia-device-plugin_{}", settings.cdi_annotation_prefix, Fingerprint(qualified)),
        Join(qualified, ","));
  }
  if (settings.list_strategies.contains(ListStrategy::kCdiCri)) {
    allocation.cdi_devices = std::move(qualified);
  }
}

void AddMps(const Settings& settings, const Resource& resource, kubelet::Allocation& allocation) {
  const auto pipe = MpsPipe(resource.name);
  allocation.envs.emplace_back(names::kMpsPipeDirectory, JoinPath(kMpsRoot, pipe));
  allocation.mounts.push_back(
      {.container_path = JoinPath(kMpsRoot, pipe), .host_path = JoinPath(settings.mps_root, pipe)});
  allocation.mounts.push_back(
      {.container_path = "/dev/shm", .host_path = JoinPath(settings.mps_root, kMpsShm)});
}

// NVIDIA's runtime reads these; in addition to CDI devices of the same name.
void AddModes(const Settings& settings, kubelet::Allocation& allocation) {
  for (const auto& [mode, variable] :
       {std::pair{"gdrcopy", "NVIDIA_GDRCOPY"}, {"gds", "NVIDIA_GDS"}, {"mofed", "NVIDIA_MOFED"}}) {
    if (settings.modes.contains(mode)) {
      allocation.envs.emplace_back(variable, "enabled");
    }
  }
}

void AddMounts(const Beside& beside, const Names& ids, kubelet::Allocation& allocation) {
  const auto add = [&allocation](const std::string& name) {
    allocation.mounts.push_back(
        {.container_path = format("{}/{}", kVolumeRoot, name), .host_path = "/dev/null"});
  };
  std::ranges::for_each(ids, add);
  for (const int channel : beside.imex_channels) {
    add(format("imex/{}", channel));
  }
}

void AddDeviceNodes(const Settings& settings, const Beside& beside, const Units& units,
                    kubelet::Allocation& allocation) {
  const auto add = [&](const std::string& path) {
    const kubelet::DeviceSpec spec{.container_path = path,
                                   .host_path = JoinPath(settings.driver.dev_root, path),
                                   .permissions = "rw"};
    // MIG devices of one GPU share its node.
    if (std::ranges::find(allocation.devices, spec) == allocation.devices.end()) {
      allocation.devices.push_back(spec);
    }
  };
  for (const auto& path : ControlNodes()) {
    if (beside.control_nodes.contains(path)) {
      add(path);
    }
  }
  for (const auto* unit : units) {
    std::ranges::for_each(unit->nodes, add);
  }
  for (const int channel : beside.imex_channels) {
    add(ImexNode(channel));
  }
}

}  // namespace

const std::vector<std::string>& ControlNodes() {
  static const std::vector<std::string> nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm",
                                                 "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"};
  return nodes;
}

std::string ImexNode(int channel) {
  return format("/dev/nvidia-caps-imex-channels/channel{}", channel);
}

std::string MpsPipe(const std::string& resource) { return resource + "/pipe"; }

std::string MpsLog(const std::string& resource) { return resource + "/log"; }

Result<kubelet::Allocation> Allocate(const Resource& resource, const Settings& settings,
                                     const Beside& beside, const std::vector<std::string>& ids) {
  TRY_ASSIGN(const auto units, UnitsOf(resource, ids));
  const bool shared = std::ranges::any_of(ids, gpu::IsReplica);
  if (shared && ids.size() > 1 && settings.sharing.fail_requests_greater_than_one) {
    return Fail(ErrorKind::kInvalid,
                format("invalid allocation request for '{}': maximum request size for shared "
                       "resources is 1; found {}",
                       resource.name, ids.size()));
  }
  Names names;
  names.reserve(units.size());
  for (const auto* unit : units) {
    names.push_back(settings.id_strategy == IdStrategy::kUuid ? unit->uuid : unit->index);
  }
  kubelet::Allocation allocation;
  if (settings.uses_cdi()) {
    AddCdi(settings, beside, names, allocation);
  }
  if (shared && settings.sharing.strategy == policy::SharingStrategy::kMps) {
    AddMps(settings, resource, allocation);
  }
  AddModes(settings, allocation);
  const bool by_env = settings.list_strategies.contains(ListStrategy::kEnvVar);
  const bool by_mounts = settings.list_strategies.contains(ListStrategy::kVolumeMounts);
  if (!by_env && !by_mounts) {
    return allocation;
  }
  allocation.envs.emplace_back(names::kVisibleDevices, by_mounts ? kVolumeRoot : Join(names, ","));
  if (by_env && !beside.imex_channels.empty()) {
    Names channels;
    for (const int channel : beside.imex_channels) {
      channels.push_back(format("{}", channel));
    }
    allocation.envs.emplace_back(names::kImexChannels, Join(channels, ","));
  }
  if (by_mounts) {
    AddMounts(beside, names, allocation);
  }
  if (settings.pass_device_specs) {
    AddDeviceNodes(settings, beside, units, allocation);
  }
  return allocation;
}

}  // namespace gantry::device_plugin
