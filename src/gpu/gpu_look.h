// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "gpu/gpu_set.h"
#include "nvml/nvml.h"

namespace gantry::gpu {

// NVML's facts on all GPUs; `host_root` is the folder that holds the node's proc/. May hang, as
// NVML may.
Result<GpuSet> LookAtGpus(const nvml::Library& library, const std::string& host_root);

}  // namespace gantry::gpu
