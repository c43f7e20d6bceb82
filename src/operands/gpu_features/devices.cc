// SPDX-License-Identifier: Apache-2.0

// Which GPUs does the node have, and what is known of each?
#include "operands/gpu_features/devices.h"

#include <map>
#include <set>

#include "base/text.h"
#include "host/pci.h"
#include "operands/gpu_features/resource_labels.h"

namespace gantry::gpu_features {
namespace {

void Complete(const Facts& facts, const nvml::Device& gpu, policy::DeviceFacts& device) {
  device.index = gpu.index;
  device.uuid = gpu.uuid;
  device.product = LabelValue(gpu.name);
  device.memory_mib = gpu.memory_bytes / kBytesPerMiB;
  if (gpu.compute_major > 0) {
    device.compute_capability = format("{}.{}", gpu.compute_major, gpu.compute_minor);
  }
  if (facts.cuda_version > 0) {  // there is none if the GPUs are passed to virtual machines
    device.driver_version = facts.driver_version;
    device.cuda_version =
        format("{}.{}", facts.cuda_version / 1000, facts.cuda_version % 1000 / 10);
    device.mig_capable = gpu.mig != nvml::MigMode::kUnsupported;
  }
}

}  // namespace

std::vector<policy::DeviceFacts> DevicesOf(const Facts& facts) {
  // On a machine without a PCI bus only the driver reports GPUs.
  std::map<std::string, const nvml::Device*> by_address;
  for (const auto& [address, class_code] : facts.pci_classes) {
    if (host::IsDisplayController(class_code)) {
      by_address.emplace(address, nullptr);
    }
  }
  std::set<unsigned> taken;
  for (const nvml::Device& gpu : facts.gpus) {
    by_address[gpu.pci_bus_id] = &gpu;
    taken.insert(gpu.index);
  }
  std::vector<policy::DeviceFacts> devices;
  unsigned free = 0;
  for (const auto& [address, gpu] : by_address) {
    policy::DeviceFacts& device = devices.emplace_back();
    device.pci_bus_id = address;
    if (gpu != nullptr) {
      Complete(facts, *gpu, device);
      continue;
    }
    while (taken.contains(free)) {
      ++free;
    }
    device.index = free++;
  }
  return devices;
}

}  // namespace gantry::gpu_features
