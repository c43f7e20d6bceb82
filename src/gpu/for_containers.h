// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/gpu.h"
#include "policy/plugin_config.h"

namespace gantry::gpu {

// A unit of allocation to containers: a full GPU, or a MIG device of one.
struct Unit {
  std::string uuid;                // "GPU-...", "MIG-..."
  std::string index;               // "3"; "3:0" for a MIG device
  std::string gpu_uuid;            // of the GPU that it is or belongs to
  std::vector<std::string> nodes;  // "/dev/nvidia3"; a MIG device's capabilities too
  int numa_node = -1;              // -1: none
  std::optional<unsigned> gpu_instance = {};
  std::optional<unsigned> compute_instance = {};
  int replicas = 1;   // how many containers share it
  size_t gpu_at = 0;  // its GPU's index in the given list
  size_t mig_at = 0;  // its index among that GPU's MIG devices

  [[nodiscard]] bool is_mig() const { return gpu_instance.has_value(); }
  bool operator==(const Unit&) const = default;
};

// One resource of the node.
struct OfferedUnits {
  std::string name;      // as the kubelet sees it: "nvidia.com/gpu.shared"
  std::string resource;  // before sharing renames it: "nvidia.com/gpu"
  std::vector<Unit> units;
};

struct ForContainers {
  std::vector<OfferedUnits> offered;  // by name; none is empty
  std::vector<std::string> left_out;  // a sentence for each thing that is not offered
  // Why the MIG strategy `single` offers nothing on this node; empty: it does.
  std::string unlike;
};

// Which GPUs does a node have for containers, under which resources, and how often is each shared?
// The device plugin offers this and feature discovery labels the node by it.
ForContainers GpusForContainers(const std::vector<Gpu>& gpus, policy::MigStrategy strategy,
                                const policy::Sharing& sharing);

// How many processes MPS allows on a GPU at once (NVIDIA's MPS guide: 48 since Volta, 16 before).
// NVIDIA's plugin allows V100 only 16.
int MpsClients(const Gpu& gpu);

// "1g.10gb+me" -> "nvidia.com/mig-1g.10gb.me", the resource of MIG devices of that profile under
// the strategy `mixed`.
std::string MigResource(std::string_view profile);

}  // namespace gantry::gpu
