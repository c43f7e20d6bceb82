// SPDX-License-Identifier: Apache-2.0
// Which containers hold which GPUs? The kubelet repeats the ids that a device plugin made up, and
// plugins make them up differently.
#include "gpu/pod_gpus.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/device_id.h"

namespace gantry::gpu {
namespace {

constexpr std::string_view kGoogleShare = "/vgpu";
constexpr std::string_view kGoogleInstance = "/gi";

bool Counts(std::string_view resource, const std::set<std::string>& more) {
  return resource == "nvidia.com/gpu" || resource == "nvidia.com/gpu.shared" ||
         resource.starts_with("nvidia.com/mig-") || more.contains(std::string(resource));
}

struct Id {
  std::string_view device;
  std::string replica;
};

Id WithoutShare(std::string_view id) {
  for (const std::string_view mark : {kReplicaMark, kGoogleShare}) {
    if (const size_t at = id.rfind(mark); at != std::string_view::npos) {
      return {id.substr(0, at), std::string(id.substr(at + mark.size()))};
    }
  }
  return {id, ""};
}

std::optional<unsigned> Number(std::string_view text) {
  const auto number = ParseInt(text);
  return number && *number >= 0 ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

// "nvidia3", "nvidia3/gi1".
std::optional<GpuPart> ByNode(std::string_view device, const std::vector<Gpu>& gpus) {
  device.remove_prefix(std::string_view("nvidia").size());
  const size_t slash = device.find(kGoogleInstance);
  const auto minor = Number(device.substr(0, slash));
  const auto found = std::ranges::find_if(gpus, [&](const Gpu& gpu) { return minor == gpu.minor; });
  if (found == gpus.end()) {
    return std::nullopt;
  }
  GpuPart part{.uuid = found->uuid};
  if (slash != std::string_view::npos) {
    part.gpu_instance = Number(device.substr(slash + kGoogleInstance.size()));
    return part.gpu_instance ? std::optional(part) : std::nullopt;
  }
  return part;
}

// "MIG-GPU-<uuid>/<gpu instance>/<compute instance>", as drivers before 470 name MIG devices.
std::optional<GpuPart> ByOldMigName(std::string_view device) {
  device.remove_prefix(std::string_view("MIG-").size());
  const auto parts = Split(device, '/');
  const auto instance = parts.size() == 3 ? Number(parts[1]) : std::nullopt;
  return instance ? std::optional(GpuPart{.uuid = std::string(parts[0]), .gpu_instance = instance})
                  : std::nullopt;
}

std::optional<GpuPart> PartOf(std::string_view device, const std::vector<Gpu>& gpus) {
  if (device.starts_with("nvidia")) {
    return ByNode(device, gpus);
  }
  if (device.starts_with("MIG-GPU-")) {
    const auto part = ByOldMigName(device);
    const bool here = part && std::ranges::find(gpus, part->uuid, &Gpu::uuid) != gpus.end();
    return here ? part : std::nullopt;
  }
  return PartOfUuid(device, gpus);
}

}  // namespace

std::optional<GpuPart> PartOfUuid(std::string_view uuid, const std::vector<Gpu>& gpus) {
  for (const Gpu& gpu : gpus) {
    if (gpu.uuid == uuid) {
      return GpuPart{.uuid = gpu.uuid};
    }
    const auto mig = std::ranges::find(gpu.mig_devices, uuid, &nvml::MigDevice::uuid);
    if (mig != gpu.mig_devices.end()) {
      return GpuPart{.uuid = gpu.uuid, .gpu_instance = mig->gpu_instance};
    }
  }
  return std::nullopt;
}

Holders HoldersOf(const std::vector<kubelet::PodResources>& pods, const std::vector<Gpu>& gpus,
                  const std::set<std::string>& more) {
  Holders holders;
  for (const auto& pod : pods) {
    for (const auto& container : pod.containers) {
      for (const auto& devices : container.devices) {
        if (!Counts(devices.resource, more)) {
          continue;
        }
        for (const std::string& id : devices.ids) {
          const Id parts = WithoutShare(id);
          if (const auto part = PartOf(parts.device, gpus)) {
            holders[*part].push_back({.ns = pod.ns,
                                      .pod = pod.name,
                                      .container = container.name,
                                      .replica = parts.replica});
          }
        }
      }
    }
  }
  return holders;
}

}  // namespace gantry::gpu
