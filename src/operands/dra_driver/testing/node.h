// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "operands/dra_driver/node_gpus.h"

namespace gantry::dra_driver {

// A GPU of a test's node: minor number and index alike, UUID "GPU-<minor>".
inline gpu::Gpu TestGpu(unsigned minor, bool mig = false) {
  return {.index = minor,
          .minor = minor,
          .uuid = "GPU-" + std::to_string(minor),
          .name = "NVIDIA H100 80GB HBM3",
          .pci_bus_id = "0000:6" + std::to_string(minor) + ":00.0",
          .numa_node = 0,
          .compute_major = 9,
          .memory_mib = 81559,
          .mig_enabled = mig,
          .brand = "nvidia",
          .memory_bytes = uint64_t{81559} << 20U};
}

inline void AddMig(gpu::Gpu& gpu, const std::string& profile, unsigned instance,
                   const nvml::MigPlace& place) {
  gpu.mig_devices.push_back(
      {.index = static_cast<unsigned>(gpu.mig_devices.size()),
       .uuid = "MIG-" + std::to_string(gpu.minor) + "-" + std::to_string(instance),
       .profile = profile,
       .gpu_instance = instance,
       .compute_instance = 0,
       .attributes = {.gpu_slices = 1,
                      .compute_slices = 1,
                      .multiprocessors = 16,
                      .copy_engines = 1,
                      .memory_mib = 9984},
       .place = place});
  gpu.mig_nodes.push_back({"/dev/nvidia-caps/nvidia-cap" + std::to_string(instance)});
}

// GPUs 0 and 1, and GPU 2 in MIG mode with two MIG devices; in another order than by number.
inline gpu::GpuSet TestSet() {
  gpu::Gpu divided = TestGpu(2, true);
  AddMig(divided, "1g.10gb+me", 9, {.profile_id = 20, .start = 1, .size = 1});
  AddMig(divided, "1g.10gb", 7, {.profile_id = 19, .start = 2, .size = 1});
  return {.gpus = {TestGpu(1), divided, TestGpu(0)},
          .scores = {},
          .driver_version = "550.163.01",
          .cuda_version = "12.4",
          .failed = {}};
}

inline NodeGpus TestNode(gpu::GpuSet set = TestSet()) {
  NodeGpus node;
  node.devices = DevicesOf(set, {});
  node.files.version = set.driver_version;
  node.files.control_nodes = {"/dev/nvidiactl"};
  for (const gpu::Gpu& gpu : set.gpus) {
    container::CdiGpu described{.uuid = gpu.uuid,
                                .index = static_cast<int>(gpu.index),
                                .minor = static_cast<int>(gpu.minor),
                                .pci_bus_id = gpu.pci_bus_id,
                                .nodes = {},
                                .mig_enabled = gpu.mig_enabled};
    for (size_t at = 0; at < gpu.mig_devices.size(); ++at) {
      described.mig.push_back({.uuid = gpu.mig_devices[at].uuid, .nodes = gpu.mig_nodes[at]});
    }
    node.cdi.gpus.push_back(std::move(described));
  }
  node.set = std::move(set);
  return node;
}

// A ResourceClaim "ns/name" with these devices allocated, by request.
inline Json TestClaim(const std::string& uid,
                      const std::vector<std::pair<std::string, std::string>>& results,
                      const Json& config = Json::array()) {
  Json list = Json::array();
  for (const auto& [request, device] : results) {
    list.push_back(
        {{"request", request}, {"driver", "gpu.nvidia.com"}, {"pool", "node"}, {"device", device}});
  }
  return {{"metadata", {{"namespace", "ns"}, {"name", "name"}, {"uid", uid}}},
          {"status",
           {{"allocation", {{"devices", {{"results", list}, {"config", config}}}}},
            {"reservedFor", Json::array({{{"resource", "pods"}, {"name", "p"}, {"uid", "u"}}})}}}};
}

}  // namespace gantry::dra_driver
