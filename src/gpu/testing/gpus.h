// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "gpu/gpu_set.h"

// GPUs for tests.
namespace gantry::gpu {

// "GPU-0", ... with minors from 10, alternating between NUMA nodes 0 and 1.
inline std::vector<Gpu> Gpus(unsigned count) {
  std::vector<Gpu> gpus;
  for (unsigned i = 0; i < count; ++i) {
    gpus.push_back({.index = i,
                    .minor = i + 10,
                    .uuid = format("GPU-{}", i),
                    .name = "Tesla T4",
                    .pci_bus_id = format("0000:0{}:00.0", i),
                    .numa_node = static_cast<int>(i % 2),
                    .compute_major = 7,
                    .memory_mib = 15360});
  }
  return gpus;
}

inline GpuSet SetOf(std::vector<Gpu> gpus) {
  GpuSet set;
  set.scores.assign(gpus.size(), std::vector<int>(gpus.size(), 0));
  set.gpus = std::move(gpus);
  set.driver_version = "535.1";
  return set;
}

// Puts the GPU in MIG mode with these devices: "MIG-<gpu>-<n>", GPU instance n+1, compute instance
// 0, the capabilities nvidia-cap<100 * gpu + 2n> and the next.
inline void AddMig(Gpu& gpu, const std::vector<std::string>& profiles) {
  gpu.mig_enabled = true;
  for (unsigned n = 0; n < profiles.size(); ++n) {
    nvml::MigDevice mig;
    mig.index = n;
    mig.uuid = format("MIG-{}-{}", gpu.index, n);
    mig.profile = profiles[n];
    mig.gpu_instance = n + 1;
    gpu.mig_devices.push_back(mig);
    const auto capability = 100 * gpu.index + 2 * n;
    gpu.mig_nodes.push_back({format("/dev/nvidia-caps/nvidia-cap{}", capability),
                             format("/dev/nvidia-caps/nvidia-cap{}", capability + 1)});
  }
}

}  // namespace gantry::gpu
