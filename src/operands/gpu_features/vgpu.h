// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "operands/gpu_features/facts.h"

namespace gantry::gpu_features {

// Without CAP_SYS_ADMIN, sysfs shows only the first 64 bytes of it.
inline constexpr size_t kConfigSpaceSize = 256;

// The vGPU capability in the first 256 bytes (or more) of a function's PCI configuration space:
// none for a physical GPU, or if the space is shorter or malformed.
std::optional<VgpuHost> FindVgpuHost(std::string_view config_space);

}  // namespace gantry::gpu_features
