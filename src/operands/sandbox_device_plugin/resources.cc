// SPDX-License-Identifier: Apache-2.0
// Which resources does a node offer to virtual machines, and which of their devices are usable?
#include "operands/sandbox_device_plugin/resources.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "gpu/vfio.h"

namespace gantry::sandbox_device_plugin {
namespace {

constexpr std::string_view kPrefix = "nvidia.com/";

bool IsSpace(char letter) { return std::isspace(static_cast<unsigned char>(letter)) != 0; }

std::string GroupFault(int group, const Node& node) {
  for (const host::PciFunction& other : node.functions) {
    if (other.iommu_group == group && gpu::KeepsItsGroup(other.driver)) {
      return format("{} of its IOMMU group is bound to {}", other.address, other.driver);
    }
  }
  if (!node.groups.contains("vfio") || !node.groups.contains(std::to_string(group))) {
    return format("/dev/vfio/{} is not there", group);
  }
  return "";
}

std::string FaultOf(const host::PciFunction& function, const Node& node) {
  if (!gpu::IsVfioDriver(function.driver)) {
    return format("it is bound to {}", function.driver.empty() ? "no driver" : function.driver);
  }
  return GroupFault(function.iommu_group, node);
}

std::set<std::string> IdsOf(std::span<const Resource> resources) {
  std::set<std::string> ids;
  for (const Resource& resource : resources) {
    for (const Device& device : resource.devices) {
      ids.insert(device.id);
    }
  }
  return ids;
}

std::string NameOf(const host::PciFunction& function, const Node& node) {
  const auto known = node.names.find(function.device);
  return known == node.names.end() ? format("{:04x}", function.device)
                                   : PciResourceName(known->second);
}

}  // namespace

std::string PciResourceName(std::string_view name) {
  std::string text;
  for (const char letter : Upper(name)) {
    if (letter == '/' || letter == '.' || letter == '_' || IsSpace(letter)) {
      text += '_';
    } else if ((letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9')) {
      text += letter;
    }
  }
  return text;
}

std::string TypeResourceName(std::string_view type) {
  std::string text(Trim(type));
  std::ranges::replace_if(text, IsSpace, '_');
  return text;
}

std::string SocketOf(const Resource& resource) {
  return format("kubevirt-{}.sock", resource.name.substr(kPrefix.size()));
}

std::vector<Resource> ResourcesOf(const Node& node, std::span<const Resource> before) {
  std::map<std::string, Resource> resources;
  const auto add = [&](const std::string& name, bool mediated, Device device) {
    Resource& resource = resources[name];
    resource.name = format("{}{}", kPrefix, name);
    resource.mediated = mediated;
    resource.devices.push_back(std::move(device));
  };
  const std::set<std::string> offered = IdsOf(before);
  for (const host::PciFunction& function : node.functions) {
    const bool usable = gpu::IsVfioDriver(function.driver) && function.iommu_group >= 0;
    if (function.vendor == host::kNvidiaVendor && (usable || offered.contains(function.address))) {
      add(NameOf(function, node), false,
          {.id = function.address,
           .group = function.iommu_group,
           .numa_node = function.numa_node,
           .fault = FaultOf(function, node)});
    }
  }
  for (const MediatedDevice& device : node.mediated) {
    add(TypeResourceName(device.type), true,
        {.id = device.uuid,
         .group = device.group,
         .numa_node = device.numa_node,
         .fault = GroupFault(device.group, node)});
  }
  std::vector<Resource> all;
  all.reserve(resources.size());
  for (auto& [name, resource] : resources) {
    all.push_back(std::move(resource));
  }
  // Without its last device a resource stays: the kubelet is told that there is none.
  for (const Resource& earlier : before) {
    if (std::ranges::find(all, earlier.name, &Resource::name) == all.end()) {
      all.push_back({.name = earlier.name, .mediated = earlier.mediated, .devices = {}});
    }
  }
  return all;
}

}  // namespace gantry::sandbox_device_plugin
