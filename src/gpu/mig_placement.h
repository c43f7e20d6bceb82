// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "gpu/mig_plan.h"
#include "nvml/mig_control.h"

namespace gantry::gpu {

// Memory slices at which GPU instances begin, in the order of the requests that they were asked
// for. nullopt: no placement holds them all. Of several the one that keeps most (PlanMig).
std::optional<std::vector<unsigned>> PlaceMig(const nvml::MigGpu& gpu,
                                              std::span<const MigRequest> requests,
                                              const std::set<unsigned>& held);

// The profile of that number (NVML_GPU_INSTANCE_PROFILE_*); null: the GPU has none such.
const nvml::GpuInstanceProfile* ProfileOfNumber(const nvml::MigGpu& gpu, unsigned number);
// The profile that a GPU instance was made from.
const nvml::GpuInstanceProfile& ProfileOf(const nvml::MigGpu& gpu,
                                          const nvml::GpuInstance& instance);
// The GPU instance of that profile at that place; null: there is none.
const nvml::GpuInstance* InstanceAt(const nvml::MigGpu& gpu, unsigned profile, unsigned start);

// Which compute instances of a GPU instance may stay if it is to have `wanted` (slices,
// descending): those that are wanted too, unless the rest would not fit beside them for certain.
std::vector<unsigned> KeptCompute(const nvml::GpuInstance& instance,
                                  const std::vector<unsigned>& wanted);

}  // namespace gantry::gpu
