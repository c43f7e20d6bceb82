// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "gpu/for_containers.h"
#include "gpu/gpu_set.h"
#include "nvml/nvml.h"

namespace gantry::gpu {

// NVIDIA's points for a pair (go-gpuallocator): 10 for GPUs of two CPU sockets up to 60 for two on
// one board, and 100 for each NVLink between them, at most 18. Links that end in an NVSwitch count
// as links to every GPU behind it.
PairScores ScoresOf(const nvml::Topology& topology);

// The scores of the GPUs of these units, in their order.
PairScores ScoresFor(const std::vector<Unit>& units, const GpuSet& all);

}  // namespace gantry::gpu
