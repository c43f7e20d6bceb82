// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/device_plugin/device_plugin.h"
#include "operands/sandbox_device_plugin/resources.h"

// Answers to the kubelet's two calls. All of it pure.
namespace gantry::sandbox_device_plugin {

// Device nodes besides those of the groups, as a look at the node found them.
struct DeviceNodes {
  bool iommufd = false;  // there is /dev/iommu
  // IOMMU group -> names below /dev/vfio/devices of its functions: "vfio0".
  std::map<int, std::vector<std::string>> of_groups = {};
  // "/dev/egm4" -> the PCI addresses of the GPUs whose memory it extends.
  std::map<std::string, std::vector<std::string>> extended_memory = {};
  bool operator==(const DeviceNodes&) const = default;
};

// Device nodes and the variable by which KubeVirt finds the devices. kNotFound: an id is not one of
// the resource's; kUnavailable: no virtual machine can have the device now, and why.
Result<kubelet::Allocation> Allocate(const Resource& resource, const DeviceNodes& nodes,
                                     const std::vector<std::string>& ids);

}  // namespace gantry::sandbox_device_plugin
