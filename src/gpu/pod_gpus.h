// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/gpu.h"
#include "kubelet/pod_resources.h"

namespace gantry::gpu {

// A GPU, or one of its GPU instances (MIG).
struct GpuPart {
  std::string uuid;  // of the GPU
  std::optional<unsigned> gpu_instance = {};
  auto operator<=>(const GpuPart&) const = default;
};

using PodLabels = std::vector<std::pair<std::string, std::string>>;

// A container that holds one.
struct Holder {
  std::string ns;
  std::string pod;
  std::string container;
  std::string replica = {};  // the number of its share; empty: it has the GPU for itself
  // What the kubelet's list has not, and others add.
  std::string uid = {};  // as the pod's cgroup has it
  PodLabels labels = {};
  PodLabels attributes = {};
  auto operator<=>(const Holder&) const = default;
};

using Holders = std::map<GpuPart, std::vector<Holder>>;

// Who holds which of these GPUs, by the kubelet's list, in its order. Resources that count are
// nvidia.com/gpu and nvidia.com/gpu.shared, nvidia.com/mig-*, and those of `more`. Ids are those of
// NVIDIA's and Google's device plugins (dcgm-exporter 4.8, PodMapper): a UUID, "nvidia3",
// "MIG-GPU-.../1/0", "nvidia3/gi1", each with "::2" or "/vgpu2" for a share. One that names none of
// these GPUs is left out.
Holders HoldersOf(const std::vector<kubelet::PodResources>& pods, const std::vector<Gpu>& gpus,
                  const std::set<std::string>& more);

// The GPU or MIG device of a UUID; nullopt: it is none of these.
std::optional<GpuPart> PartOfUuid(std::string_view uuid, const std::vector<Gpu>& gpus);

}  // namespace gantry::gpu
