// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/pci.h"

// Which resources does a node offer to virtual machines? All of it pure. Names, ids and sockets are
// those of NVIDIA's kubevirt-gpu-device-plugin v1.6, on which the kubelet's checkpoint and KubeVirt
// rely.
namespace gantry::sandbox_device_plugin {

// A device that a virtual machine can get.
struct Device {
  std::string id;      // a PCI address; a mediated device's UUID
  int group = -1;      // its IOMMU group
  int numa_node = -1;  // -1: none
  // Empty: a virtual machine can have it; else why not, for people.
  std::string fault = {};
  bool operator==(const Device&) const = default;
};

struct Resource {
  std::string name;       // "nvidia.com/TU104GL_TESLA_T4"
  bool mediated = false;  // virtual GPUs of the mdev framework
  std::vector<Device> devices;
  bool operator==(const Resource&) const = default;
};

// A device of the mdev framework, as sysfs shows it.
struct MediatedDevice {
  std::string uuid;
  std::string type;  // "GRID T4-1Q"
  int group = -1;
  int numa_node = -1;  // of its parent
};

// What a look at the node found.
struct Node {
  std::vector<host::PciFunction> functions;
  std::map<int, std::string> names;  // device id -> its name in the PCI database
  std::vector<MediatedDevice> mediated;
  std::set<std::string> groups;  // the nodes in /dev/vfio: "57", "vfio"
};

// The suffix of a resource's name: of the PCI database's ("TU104GL [Tesla T4]"), or of a type of
// virtual GPUs ("GRID T4-1Q").
std::string PciResourceName(std::string_view name);
std::string TypeResourceName(std::string_view type);

// The socket's name in the kubelet's folder: "kubevirt-TU104GL_TESLA_T4.sock".
std::string SocketOf(const Resource& resource);

// The resources, by name; several device ids of one name are one resource. A function that was
// offered in `before` and that no virtual machine can get now stays, with its fault: the kubelet
// must not forget a device that a pod has.
std::vector<Resource> ResourcesOf(const Node& node, std::span<const Resource> before);

}  // namespace gantry::sandbox_device_plugin
