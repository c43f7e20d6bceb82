// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

// Device objects (gpu.nvidia.com/v1), one for each GPU of a node: for users and programs that list
// a cluster's GPUs.
namespace gantry::policy {

// One GPU. Before its driver runs only its PCI address is known; empty, 0 or nullopt: unknown.
struct DeviceFacts {
  unsigned index = 0;      // NVML's, or another that no GPU of the node has
  std::string pci_bus_id;  // as sysfs spells it: "0000:3b:00.0"
  std::string uuid;
  std::string product;  // as the label nvidia.com/gpu.product has it
  uint64_t memory_mib = 0;
  std::string driver_version;
  std::string cuda_version;        // "12.2"
  std::string compute_capability;  // "8.0"
  std::optional<bool> mig_capable;
  bool operator==(const DeviceFacts&) const = default;
};

// The object of a node's GPU, called "gpu-<index>-node-<node>", owned by its Node, and so deleted
// with it. It has the known fields only.
Json DeviceObject(const DeviceFacts& facts, const std::string& node, const std::string& node_uid);

// The changes that bring a node's stored objects up to date. Unknown fields keep their stored
// values, so that nothing is lost while the driver is away; another address means another GPU. A
// GPU without a driver keeps the object of its address, or gets an unused index.
struct DeviceChanges {
  std::vector<Json> create;
  std::vector<std::pair<std::string, Json>> patch;  // name, merge patch
  std::vector<std::string> remove;                  // names
};
DeviceChanges PlanDevices(const std::vector<DeviceFacts>& gpus, const std::string& node,
                          const std::string& node_uid, const std::vector<Json>& stored);

}  // namespace gantry::policy
