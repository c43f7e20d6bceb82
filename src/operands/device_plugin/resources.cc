// SPDX-License-Identifier: Apache-2.0
// Which resources does a node offer, with which devices? From its GPUs, the settings and what is
// unhealthy. Names, ids and the socket's name are NVIDIA's (k8s-device-plugin v0.20), because pods,
// monitoring and the kubelet's checkpoint hold them.
//
// A GPU in MIG mode can't be used as a whole; upstream offers it all the same under the strategy
// `none`, and pods fail on it. Upstream's plugin fails whole when one MIG device fits no resource;
// here that device is left out with a sentence.
#include "operands/device_plugin/resources.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::device_plugin {
namespace {

constexpr std::string_view kReplicaMark = "::";
// Graphics cards for the screen of a DGX Station.
constexpr std::array<std::string_view, 2> kNotForCompute{"DGX Display", "NVIDIA DGX Display"};

using UnitsByResource = std::map<std::string, std::vector<Unit>>;  // by the name before sharing
using Sentences = std::vector<std::string>;

std::string EndpointOf(std::string_view resource) {
  const auto slash = resource.find('/');
  return format("nvidia-{}.sock", resource.substr(slash + 1));
}

Unit Whole(const Gpu& gpu) {
  return {.uuid = gpu.uuid,
          .index = format("{}", gpu.index),
          .gpu_uuid = gpu.uuid,
          .nodes = {format("/dev/nvidia{}", gpu.minor)},
          .numa_node = gpu.numa_node};
}

Unit PartOf(const Gpu& gpu, size_t position) {
  const auto& mig = gpu.mig_devices[position];
  Unit unit = Whole(gpu);
  unit.uuid = mig.uuid;
  unit.index = format("{}:{}", gpu.index, mig.index);
  unit.gpu_instance = mig.gpu_instance;
  unit.compute_instance = mig.compute_instance;
  const auto& nodes = gpu.mig_nodes[position];
  unit.nodes.insert(unit.nodes.end(), nodes.begin(), nodes.end());
  return unit;
}

// "1g.10gb+me" -> "nvidia.com/mig-1g.10gb.me".
std::string MigResource(std::string_view profile) {
  std::string name(names::kMigResourcePrefix);
  for (const char c : profile) {
    name += c == '+' ? '.' : c;
  }
  return name;
}

// A compute instance that has not all of its GPU instance ("1c.3g.40gb") has no resource name of
// NVIDIA's.
bool IsSplit(std::string_view profile) { return profile.find("c.") != std::string_view::npos; }

// Under the strategy `single` a node's devices are all alike, or nothing can be promised about
// nvidia.com/gpu. The reason why they are not; empty: they are.
std::string Unlike(const std::vector<Gpu>& gpus) {
  const nvml::MigDevice* first = nullptr;
  const Gpu* whole = nullptr;
  for (const auto& gpu : gpus) {
    whole = gpu.mig_enabled ? whole : &gpu;
    for (const auto& mig : gpu.mig_devices) {
      first = first == nullptr ? &mig : first;
      if (mig.profile != first->profile || mig.attributes != first->attributes) {
        return format("MIG devices of {} and {} are beside each other", first->profile,
                      mig.profile);
      }
    }
  }
  if (first != nullptr && whole != nullptr) {
    return format("GPU {} is whole beside MIG devices of {}", whole->index, first->profile);
  }
  return "";
}

UnitsByResource Sorted(const GpuSet& set, policy::MigStrategy strategy, Sentences& left_out) {
  UnitsByResource units;
  std::vector<Gpu> gpus;
  for (const auto& gpu : set.gpus) {
    if (std::ranges::find(kNotForCompute, gpu.name) != kNotForCompute.end()) {
      left_out.push_back(format("GPU {} ({}): drives a display", gpu.index, gpu.name));
    } else if (gpu.mig_enabled && strategy == policy::MigStrategy::kNone) {
      left_out.push_back(
          format("GPU {} ({}): is in MIG mode, and MIG_STRATEGY is none", gpu.index, gpu.uuid));
    } else if (gpu.mig_enabled && gpu.mig_devices.empty()) {
      left_out.push_back(
          format("GPU {} ({}): is in MIG mode and has no MIG device", gpu.index, gpu.uuid));
    } else {
      gpus.push_back(gpu);
    }
  }
  const bool single = strategy == policy::MigStrategy::kSingle;
  if (const auto reason = single ? Unlike(gpus) : ""; !reason.empty()) {
    left_out.push_back(format("every GPU: MIG_STRATEGY is single, and {}", reason));
    return units;
  }
  for (const auto& gpu : gpus) {
    if (!gpu.mig_enabled) {
      units[names::kGpuResource].push_back(Whole(gpu));
      continue;
    }
    for (size_t i = 0; i < gpu.mig_devices.size(); ++i) {
      const auto& profile = gpu.mig_devices[i].profile;
      auto unit = PartOf(gpu, i);
      if (!single && IsSplit(profile)) {
        left_out.push_back(format("MIG device {} ({}): no resource is named after {}", unit.index,
                                  unit.uuid, profile));
      } else {
        units[single ? names::kGpuResource : MigResource(profile)].push_back(std::move(unit));
      }
    }
  }
  return units;
}

// Whether an entry of `devices` means this unit. The UUID or index of a GPU means its MIG devices
// too; the third form is what MIG devices were called before driver 470.
bool Means(const std::string& entry, const Unit& unit) {
  return entry == unit.uuid || entry == unit.index || entry == unit.gpu_uuid ||
         entry == unit.index.substr(0, unit.index.find(':')) ||
         (unit.gpu_instance && unit.compute_instance &&
          entry ==
              format("MIG-{}/{}/{}", unit.gpu_uuid, *unit.gpu_instance, *unit.compute_instance));
}

bool IsShared(const policy::SharedDevices& devices, size_t position, const Unit& unit) {
  if (devices.count > 0) {
    return position < static_cast<size_t>(devices.count);
  }
  return devices.all() || std::ranges::any_of(devices.list, [&unit](const std::string& entry) {
           return Means(entry, unit);
         });
}

// The entry that shares the unit among the most; nullptr: none shares it.
const policy::SharedResource* EntryFor(const policy::Sharing& sharing, const std::string& name,
                                       size_t position, const Unit& unit) {
  const policy::SharedResource* most = nullptr;
  for (const auto& entry : sharing.resources) {
    if (entry.name == name && IsShared(entry.devices, position, unit) &&
        (most == nullptr || entry.replicas > most->replicas)) {
      most = &entry;
    }
  }
  return most;
}

// Why MPS can't share it among so many; empty: it can.
std::string NotByMps(const Unit& unit, const GpuSet& set, int replicas) {
  if (unit.is_mig()) {
    return format("MIG device {} ({}): MPS shares whole GPUs only", unit.index, unit.uuid);
  }
  const auto gpu = std::ranges::find(set.gpus, unit.gpu_uuid, &Gpu::uuid);
  if (const int clients = MpsClients(*gpu); replicas > clients) {
    return format("GPU {} ({}): MPS takes at most {} clients on it, replicas is {}", unit.index,
                  unit.uuid, clients, replicas);
  }
  return "";
}

// Sets the replicas and moves what is shared to the name that shares have.
UnitsByResource Share(UnitsByResource units, const GpuSet& set, const policy::Sharing& sharing,
                      Sentences& left_out) {
  UnitsByResource offered;
  for (auto& [name, of_name] : units) {
    for (size_t i = 0; i < of_name.size(); ++i) {
      auto& unit = of_name[i];
      const auto* shared = EntryFor(sharing, name, i, unit);
      if (shared == nullptr) {
        offered[name].push_back(std::move(unit));
        continue;
      }
      if (sharing.strategy == policy::SharingStrategy::kMps) {
        if (auto reason = NotByMps(unit, set, shared->replicas); !reason.empty()) {
          left_out.push_back(std::move(reason));
          continue;
        }
      }
      unit.replicas = shared->replicas;
      offered[sharing.OfferedName(name)].push_back(std::move(unit));
    }
  }
  return offered;
}

std::vector<kubelet::Device> DevicesOf(const std::vector<Unit>& units,
                                       const std::set<std::string>& unhealthy) {
  std::vector<kubelet::Device> devices;
  for (const auto& unit : units) {
    kubelet::Device device{
        .id = unit.uuid, .healthy = !unhealthy.contains(unit.uuid), .numa_nodes = {}};
    if (unit.numa_node >= 0) {
      device.numa_nodes.push_back(unit.numa_node);
    }
    if (unit.replicas == 1) {
      devices.push_back(device);
      continue;
    }
    for (int n = 0; n < unit.replicas; ++n) {
      device.id = format("{}{}{}", unit.uuid, kReplicaMark, n);
      devices.push_back(device);
    }
  }
  return devices;
}

}  // namespace

const Unit* Resource::UnitOf(std::string_view device_id) const {
  const auto unit = std::ranges::find(units, UuidOf(device_id), &Unit::uuid);
  return unit == units.end() ? nullptr : &*unit;
}

bool Resource::has_shares() const {
  return std::ranges::any_of(units, [](const Unit& unit) { return unit.replicas > 1; });
}

Resources OfferedResources(const GpuSet& set, const Settings& settings,
                           const std::set<std::string>& unhealthy) {
  Resources offered;
  for (auto& [name, units] : Share(Sorted(set, settings.mig_strategy, offered.left_out), set,
                                   settings.sharing, offered.left_out)) {
    auto devices = DevicesOf(units, unhealthy);
    offered.resources.push_back({.name = name,
                                 .endpoint = EndpointOf(name),
                                 .units = std::move(units),
                                 .devices = std::move(devices)});
  }
  return offered;
}

int MpsClients(const Gpu& gpu) {
  constexpr int kVolta = 7;
  return gpu.compute_major >= kVolta ? 48 : 16;
}

std::string_view UuidOf(std::string_view device_id) {
  return device_id.substr(0, device_id.find(kReplicaMark));
}

bool IsReplica(std::string_view device_id) {
  return device_id.find(kReplicaMark) != std::string_view::npos;
}

}  // namespace gantry::device_plugin
