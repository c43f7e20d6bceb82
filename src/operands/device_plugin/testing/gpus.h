// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "operands/device_plugin/gpu.h"
#include "operands/device_plugin/settings.h"

// GPUs and settings for tests.
namespace gantry::device_plugin {

// "GPU-0", ... with minors from 10, on the NUMA nodes 0 and 1 by turns.
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

inline Settings With(std::set<ListStrategy> strategies) {
  Settings settings;
  settings.list_strategies = std::move(strategies);
  settings.cdi_annotation_prefix = "cdi.k8s.io/";
  settings.driver = {"/", "/host", "/", "/host"};
  settings.mps_root = "/run/nvidia/mps";
  return settings;
}

inline Settings Mig(policy::MigStrategy strategy) {
  auto settings = With({ListStrategy::kCdiCri});
  settings.mig_strategy = strategy;
  return settings;
}

inline Settings Shared(int replicas, bool rename = false, bool one_only = false) {
  auto settings = With({ListStrategy::kCdiCri});
  settings.sharing.strategy = policy::SharingStrategy::kTimeSlicing;
  settings.sharing.rename_by_default = rename;
  settings.sharing.fail_requests_greater_than_one = one_only;
  settings.sharing.resources = {{.name = "nvidia.com/gpu", .replicas = replicas}};
  return settings;
}

}  // namespace gantry::device_plugin
