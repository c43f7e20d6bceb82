// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gantry::gpu {

// Whether containers get GPUs of that product (NVML's name, "Tesla T4"). They do not get the
// display card of a DGX Station: every program of the node leaves it out.
bool IsForContainers(std::string_view product);

}  // namespace gantry::gpu
