// SPDX-License-Identifier: Apache-2.0
// What does a virtual machine's pod get with its devices? The nodes of their IOMMU groups, no
// others, and one variable: KubeVirt takes addresses from PCI_RESOURCE_<name> and UUIDs from
// MDEV_PCI_RESOURCE_<name>.
#include "operands/sandbox_device_plugin/allocate.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace gantry::sandbox_device_plugin {
namespace {

std::string VariableOf(const Resource& resource) {
  std::string name = Upper(resource.name);
  std::ranges::replace_if(name, [](char letter) { return letter == '/' || letter == '.'; }, '_');
  return format("{}PCI_RESOURCE_{}", resource.mediated ? "MDEV_" : "", name);
}

void Add(kubelet::Allocation& allocation, const std::string& path) {
  allocation.devices.push_back({.container_path = path, .host_path = path, .permissions = "mrw"});
}

}  // namespace

Result<kubelet::Allocation> Allocate(const Resource& resource, const DeviceNodes& nodes,
                                     const std::vector<std::string>& ids) {
  std::set<int> groups;
  for (const std::string& id : ids) {
    const auto device = std::ranges::find(resource.devices, id, &Device::id);
    if (device == resource.devices.end()) {
      return Fail(ErrorKind::kNotFound,
                  format("invalid allocation request: unknown device: {}", id));
    }
    if (!device->fault.empty()) {
      return Fail(ErrorKind::kUnavailable, format("allocate {}: {}", id, device->fault));
    }
    groups.insert(device->group);
  }
  kubelet::Allocation allocation;
  Add(allocation, "/dev/vfio/vfio");
  for (const int group : groups) {
    Add(allocation, format("/dev/vfio/{}", group));
  }
  // Virtual GPUs of the mdev framework don't work with iommufd.
  if (nodes.iommufd && !resource.mediated) {
    for (const int group : groups) {
      const auto found = nodes.of_groups.find(group);
      if (found == nodes.of_groups.end()) {
        return Fail(ErrorKind::kUnavailable,
                    format("allocate: IOMMU group {} has no node in /dev/vfio/devices", group));
      }
      for (const std::string& name : found->second) {
        Add(allocation, "/dev/vfio/devices/" + name);
      }
    }
    Add(allocation, "/dev/iommu");
  }
  for (const auto& [path, gpus] : nodes.extended_memory) {
    if (!gpus.empty() && std::ranges::all_of(gpus, [&](const std::string& gpu) {
          return std::ranges::find(ids, gpu) != ids.end();
        })) {
      Add(allocation, path);
    }
  }
  allocation.envs.emplace_back(VariableOf(resource), Join(ids, ","));
  return allocation;
}

}  // namespace gantry::sandbox_device_plugin
