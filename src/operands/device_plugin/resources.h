// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/device_plugin.h"
#include "operands/device_plugin/gpu.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// What a device id stands for: a whole GPU, or a MIG device of one.
struct Unit {
  std::string uuid;                // "GPU-...", "MIG-..."
  std::string index;               // "3"; "3:0" for a MIG device
  std::string gpu_uuid;            // of the GPU that it is, or is a part of
  std::vector<std::string> nodes;  // "/dev/nvidia3"; a MIG device's capabilities too
  int numa_node = -1;              // -1: none
  std::optional<unsigned> gpu_instance = {};
  std::optional<unsigned> compute_instance = {};
  int replicas = 1;  // how many containers share it

  [[nodiscard]] bool is_mig() const { return gpu_instance.has_value(); }
  bool operator==(const Unit&) const = default;
};

// One resource and its devices, as the kubelet is told.
struct Resource {
  std::string name;      // "nvidia.com/gpu", "nvidia.com/gpu.shared"
  std::string endpoint;  // "nvidia-gpu.sock"
  std::vector<Unit> units;
  std::vector<kubelet::Device> devices;  // "<uuid>", or "<uuid>::<n>" for each share
  bool operator==(const Resource&) const = default;

  // Of the id of a device; nullptr: none of this resource.
  [[nodiscard]] const Unit* UnitOf(std::string_view device_id) const;
  [[nodiscard]] bool has_shares() const;
};

struct Resources {
  std::vector<Resource> resources;    // by name
  std::vector<std::string> left_out;  // a sentence for each thing that is not offered
  bool operator==(const Resources&) const = default;
};

// `unhealthy` holds UUIDs of GPUs and MIG devices.
Resources OfferedResources(const GpuSet& set, const Settings& settings,
                           const std::set<std::string>& unhealthy);

// How many processes MPS lets on a GPU at once (NVIDIA's MPS guide: 48 from Volta on, 16 before).
// NVIDIA's plugin gives V100 16 only.
int MpsClients(const Gpu& gpu);

// "GPU-...::3" -> "GPU-...".
std::string_view UuidOf(std::string_view device_id);
bool IsReplica(std::string_view device_id);

}  // namespace gantry::device_plugin
