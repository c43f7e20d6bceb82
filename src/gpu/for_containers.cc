// SPDX-License-Identifier: Apache-2.0
// Which GPUs does a node have for containers? From its GPUs, the MIG strategy and the sharing that
// is configured. Names are NVIDIA's (k8s-device-plugin v0.20), because pods and monitoring use
// them.
//
// A GPU in MIG mode can't be used undivided; upstream still offers it under the strategy `none`,
// and pods fail on it. Upstream's plugin fails entirely if one MIG device fits no resource; here
// that device is left out with a sentence.
#include "gpu/for_containers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "gpu/device_id.h"
#include "gpu/products.h"
#include "kubelet/device_plugin/device_list.h"
#include "policy/names.h"

namespace gantry::gpu {
namespace {

using policy::MigStrategy;
using UnitsByResource = std::map<std::string, std::vector<Unit>>;  // by the name before sharing
using Sentences = std::vector<std::string>;

Unit Whole(const std::vector<Gpu>& gpus, size_t at) {
  const Gpu& gpu = gpus[at];
  return {.uuid = gpu.uuid,
          .index = format("{}", gpu.index),
          .gpu_uuid = gpu.uuid,
          .nodes = {format("/dev/nvidia{}", gpu.minor)},
          .numa_node = gpu.numa_node,
          .gpu_at = at};
}

Unit PartOf(const std::vector<Gpu>& gpus, size_t at, size_t mig_at) {
  const Gpu& gpu = gpus[at];
  const auto& mig = gpu.mig_devices[mig_at];
  Unit unit = Whole(gpus, at);
  unit.uuid = mig.uuid;
  unit.index = format("{}:{}", gpu.index, mig.index);
  unit.gpu_instance = mig.gpu_instance;
  unit.compute_instance = mig.compute_instance;
  unit.mig_at = mig_at;
  if (mig_at < gpu.mig_nodes.size()) {
    const auto& nodes = gpu.mig_nodes[mig_at];
    unit.nodes.insert(unit.nodes.end(), nodes.begin(), nodes.end());
  }
  return unit;
}

// A compute instance that is only part of its GPU instance ("1c.3g.40gb") has no resource name.
bool IsSplit(std::string_view profile) { return profile.find("c.") != std::string_view::npos; }

// The strategy `single` requires equal devices, so that nvidia.com/gpu means one thing. Why a
// node's are not equal; empty: they are.
std::string Unlike(const std::vector<Gpu>& gpus, const std::vector<size_t>& usable) {
  const nvml::MigDevice* first = nullptr;
  const Gpu* whole = nullptr;
  for (const size_t at : usable) {
    const Gpu& gpu = gpus[at];
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

// The indexes of the GPUs with something to offer.
std::vector<size_t> Usable(const std::vector<Gpu>& gpus, MigStrategy strategy,
                           Sentences& left_out) {
  std::vector<size_t> usable;
  for (size_t at = 0; at < gpus.size(); ++at) {
    const Gpu& gpu = gpus[at];
    if (!IsForContainers(gpu.name)) {
      left_out.push_back(format("GPU {} ({}): drives a display", gpu.index, gpu.name));
    } else if (gpu.mig_enabled && strategy == MigStrategy::kNone) {
      left_out.push_back(
          format("GPU {} ({}): is in MIG mode, and MIG_STRATEGY is none", gpu.index, gpu.uuid));
    } else if (gpu.mig_enabled && gpu.mig_devices.empty()) {
      left_out.push_back(
          format("GPU {} ({}): is in MIG mode and has no MIG device", gpu.index, gpu.uuid));
    } else {
      usable.push_back(at);
    }
  }
  return usable;
}

UnitsByResource Sorted(const std::vector<Gpu>& gpus, MigStrategy strategy, ForContainers& result) {
  UnitsByResource units;
  const std::vector<size_t> usable = Usable(gpus, strategy, result.left_out);
  const bool single = strategy == MigStrategy::kSingle;
  result.unlike = single ? Unlike(gpus, usable) : "";
  if (!result.unlike.empty()) {
    result.left_out.push_back(format("every GPU: MIG_STRATEGY is single, and {}", result.unlike));
    return units;
  }
  for (const size_t at : usable) {
    const Gpu& gpu = gpus[at];
    if (!gpu.mig_enabled) {
      units[names::kGpuResource].push_back(Whole(gpus, at));
      continue;
    }
    for (size_t mig_at = 0; mig_at < gpu.mig_devices.size(); ++mig_at) {
      const auto& profile = gpu.mig_devices[mig_at].profile;
      auto unit = PartOf(gpus, at, mig_at);
      if (!single && IsSplit(profile)) {
        result.left_out.push_back(format("MIG device {} ({}): no resource is named after {}",
                                         unit.index, unit.uuid, profile));
      } else {
        units[single ? names::kGpuResource : MigResource(profile)].push_back(std::move(unit));
      }
    }
  }
  return units;
}

// Whether an entry of `devices` names this unit. The UUID or index of a GPU also names its MIG
// devices; the third form is the name of MIG devices before driver 470.
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

// The entry that gives the unit the most replicas; nullptr: none shares it.
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
std::string NotByMps(const Unit& unit, const Gpu& gpu, int replicas) {
  if (unit.is_mig()) {
    return format("MIG device {} ({}): MPS shares whole GPUs only", unit.index, unit.uuid);
  }
  if (const int clients = MpsClients(gpu); replicas > clients) {
    return format("GPU {} ({}): MPS takes at most {} clients on it, replicas is {}", unit.index,
                  unit.uuid, clients, replicas);
  }
  return "";
}

// Sets the replicas, and moves shared units to the name of shares.
std::vector<OfferedUnits> Share(UnitsByResource units, const std::vector<Gpu>& gpus,
                                const policy::Sharing& sharing, Sentences& left_out) {
  std::map<std::string, OfferedUnits> offered;
  const auto offer = [&offered](const std::string& name, const std::string& resource, Unit unit) {
    auto& to = offered[name];
    to.name = name;
    to.resource = resource;
    to.units.push_back(std::move(unit));
  };
  for (auto& [name, of_name] : units) {
    for (size_t i = 0; i < of_name.size(); ++i) {
      auto& unit = of_name[i];
      const auto* shared = EntryFor(sharing, name, i, unit);
      if (shared == nullptr) {
        offer(name, name, std::move(unit));
        continue;
      }
      if (sharing.strategy == policy::SharingStrategy::kMps) {
        if (auto reason = NotByMps(unit, gpus[unit.gpu_at], shared->replicas); !reason.empty()) {
          left_out.push_back(std::move(reason));
          continue;
        }
      }
      unit.replicas = shared->replicas;
      offer(sharing.OfferedName(name), name, std::move(unit));
    }
  }
  std::vector<OfferedUnits> list;
  list.reserve(offered.size());
  for (auto& [name, one] : offered) {
    list.push_back(std::move(one));
  }
  return list;
}

// The size of the kubelet's list if no unit has more than `most` replicas.
size_t ListBytes(const std::vector<Unit>& units, int most) {
  size_t bytes = 0;
  for (const Unit& unit : units) {
    const int replicas = std::min(unit.replicas, most);
    if (replicas == 1) {
      bytes += kubelet::BytesInDeviceList(unit.uuid.size(), unit.numa_node);
      continue;
    }
    size_t length = unit.uuid.size() + kReplicaMark.size() + 1;
    // The shares whose numbers have one digit, two digits, ...
    for (int64_t first = 0, end = 10; first < replicas; first = end, end *= 10, ++length) {
      bytes += static_cast<size_t>(std::min<int64_t>(replicas, end) - first) *
               kubelet::BytesInDeviceList(length, unit.numa_node);
    }
  }
  return bytes;
}

// The kubelet rejects a longer list, so replicas beyond it are not offered.
void FitTheKubelet(const policy::Sharing& sharing, OfferedUnits& offered, Sentences& left_out) {
  int fits = 2;  // with one, a share would have another id
  int too_many = std::ranges::max(offered.units, {}, &Unit::replicas).replicas;
  if (ListBytes(offered.units, too_many) <= kubelet::kLongestDeviceList) {
    return;
  }
  while (too_many - fits > 1) {
    const int middle = fits + (too_many - fits) / 2;
    const bool good = ListBytes(offered.units, middle) <= kubelet::kLongestDeviceList;
    (good ? fits : too_many) = middle;
  }
  for (Unit& unit : offered.units) {
    unit.replicas = std::min(unit.replicas, fits);
  }
  for (size_t i = 0; i < sharing.resources.size(); ++i) {
    const policy::SharedResource& entry = sharing.resources[i];
    if (entry.name == offered.resource && entry.replicas > fits) {
      left_out.push_back(format(
          "sharing.{}.resources[{}].replicas: {} of {} make a longer list than the kubelet takes "
          "({} bytes), so each of the {} devices is offered {} times; set at most that",
          sharing.strategy == policy::SharingStrategy::kMps ? "mps" : "timeSlicing", i,
          entry.replicas, offered.name, kubelet::kLongestDeviceList, offered.units.size(), fits));
    }
  }
}

}  // namespace

ForContainers GpusForContainers(const std::vector<Gpu>& gpus, MigStrategy strategy,
                                const policy::Sharing& sharing) {
  ForContainers result;
  auto units = Sorted(gpus, strategy, result);
  result.offered = Share(std::move(units), gpus, sharing, result.left_out);
  for (OfferedUnits& offered : result.offered) {
    FitTheKubelet(sharing, offered, result.left_out);
  }
  return result;
}

int MpsClients(const Gpu& gpu) {
  constexpr int kVolta = 7;
  return gpu.compute_major >= kVolta ? 48 : 16;
}

std::string MigResource(std::string_view profile) {
  std::string name(names::kMigResourcePrefix);
  for (const char c : profile) {
    name += c == '+' ? '.' : c;
  }
  return name;
}

}  // namespace gantry::gpu
