// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gantry::gpu {

// Whether containers get GPUs of that product (NVML's name, "Tesla T4"). They do not get the
// graphics card that drives the screen of a DGX Station: the programs of the node leave it out
// alike.
bool IsForContainers(std::string_view product);

}  // namespace gantry::gpu
