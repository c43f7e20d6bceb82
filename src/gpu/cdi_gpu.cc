// SPDX-License-Identifier: Apache-2.0
// What of a GPU does its CDI document need? The one answer for the device plugin and claims.
#include "gpu/cdi_gpu.h"

#include <string>

namespace gantry::gpu {

container::CdiGpu CdiGpuOf(const Gpu& gpu) {
  container::CdiGpu described{.uuid = gpu.uuid,
                              .index = static_cast<int>(gpu.index),
                              .minor = static_cast<int>(gpu.minor),
                              .pci_bus_id = gpu.pci_bus_id,
                              .nodes = {},
                              .mig_enabled = gpu.mig_enabled,
                              .coherent = gpu.coherent};
  for (size_t at = 0; at < gpu.mig_devices.size(); ++at) {
    const nvml::MigDevice& mig = gpu.mig_devices[at];
    described.mig.push_back({.uuid = mig.uuid,
                             .index = static_cast<int>(mig.index),
                             .nodes = gpu.mig_nodes[at],
                             .graphics = mig.profile.find("gfx") != std::string::npos});
  }
  return described;
}

}  // namespace gantry::gpu
