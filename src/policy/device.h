// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

// Device objects (gpu.nvidia.com/v1), one for each GPU of a node: for people and programs that ask
// the API server which GPUs there are.
namespace gantry::policy {

// One GPU. Before its driver is there only its place is known; what is empty, 0 or nullopt is not.
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

// The object of a node's GPU, called "gpu-<index>-node-<node>", which its Node owns: it goes with
// the Node. It says only what is known.
Json DeviceObject(const DeviceFacts& facts, const std::string& node, const std::string& node_uid);

// What makes the stored objects of a node say what is known of its GPUs. What is not known stays as
// it is stored, so that a driver that is away for a while takes nothing back; at another address
// there is another GPU. One without a driver keeps the object of its address, or gets an index that
// nobody has.
struct DeviceChanges {
  std::vector<Json> create;
  std::vector<std::pair<std::string, Json>> patch;  // name, merge patch
  std::vector<std::string> remove;                  // names
};
DeviceChanges PlanDevices(const std::vector<DeviceFacts>& gpus, const std::string& node,
                          const std::string& node_uid, const std::vector<Json>& stored);

}  // namespace gantry::policy
