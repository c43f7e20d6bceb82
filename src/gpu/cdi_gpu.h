// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "container/nvidia_cdi.h"
#include "gpu/gpu.h"

namespace gantry::gpu {

// A GPU with all its MIG devices, as CDI documents describe it; without its DRM nodes.
container::CdiGpu CdiGpuOf(const Gpu& gpu);

}  // namespace gantry::gpu
