// SPDX-License-Identifier: Apache-2.0
// Which properties of an NVML device decide how containers get it?
#include "gpu/gpu.h"

namespace gantry::gpu {

Gpu FromNvml(const nvml::Device& device) {
  return {.index = device.index,
          .minor = device.minor,
          .uuid = device.uuid,
          .name = device.name,
          .pci_bus_id = device.pci_bus_id,
          .numa_node = device.numa_node,
          .compute_major = device.compute_major,
          .memory_mib = device.memory_bytes >> 20U,
          .mig_enabled = device.mig == nvml::MigMode::kEnabled,
          .mig_devices = device.mig_devices,
          .coherent = device.coherent,
          .brand = device.brand,
          .compute_minor = device.compute_minor,
          .memory_bytes = device.memory_bytes,
          .addressing_mode = device.addressing_mode};
}

}  // namespace gantry::gpu
