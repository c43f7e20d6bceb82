// SPDX-License-Identifier: Apache-2.0
// Which resources does a node offer, with which devices? Decided by its GPUs, the settings and the
// unhealthy devices. Ids and the socket's name are NVIDIA's (k8s-device-plugin v0.20), because
// monitoring and the kubelet's checkpoint use them.
#include "operands/device_plugin/resources.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "gpu/device_id.h"

namespace gantry::device_plugin {
namespace {

std::string EndpointOf(std::string_view resource) {
  const auto slash = resource.find('/');
  return format("nvidia-{}.sock", resource.substr(slash + 1));
}

std::vector<kubelet::Device> DevicesOf(const std::vector<Unit>& units,
                                       const std::set<std::string>& unhealthy,
                                       const gpu::Owners& owners) {
  std::vector<kubelet::Device> devices;
  for (const auto& unit : units) {
    if (owners.contains(unit.gpu_uuid)) {
      continue;
    }
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
      device.id = gpu::ShareId(unit.uuid, n);
      devices.push_back(device);
    }
  }
  return devices;
}

std::map<std::string, std::string> WithdrawnOf(const std::vector<Unit>& units,
                                               const gpu::Owners& owners) {
  std::map<std::string, std::string> withdrawn;
  for (const auto& unit : units) {
    if (const auto owner = owners.find(unit.gpu_uuid); owner != owners.end()) {
      withdrawn.emplace(unit.gpu_uuid, owner->second.reason);
    }
  }
  return withdrawn;
}

}  // namespace

const Unit* Resource::UnitOf(std::string_view device_id) const {
  const auto unit = std::ranges::find(units, gpu::UuidOf(device_id), &Unit::uuid);
  return unit == units.end() ? nullptr : &*unit;
}

bool Resource::has_shares() const {
  return std::ranges::any_of(units, [](const Unit& unit) { return unit.replicas > 1; });
}

Resources OfferedResources(const gpu::GpuSet& set, const Settings& settings,
                           const std::set<std::string>& unhealthy, const gpu::Owners& owners) {
  auto found = gpu::GpusForContainers(set.gpus, settings.mig_strategy, settings.sharing);
  Resources offered;
  offered.left_out = std::move(found.left_out);
  for (auto& [name, resource, units] : found.offered) {
    auto devices = DevicesOf(units, unhealthy, owners);
    auto withdrawn = WithdrawnOf(units, owners);
    offered.resources.push_back({.name = name,
                                 .endpoint = EndpointOf(name),
                                 .units = std::move(units),
                                 .devices = std::move(devices),
                                 .withdrawn = std::move(withdrawn)});
  }
  return offered;
}

}  // namespace gantry::device_plugin
