// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gantry::gpu {

// The architecture of a CUDA compute capability, as NVIDIA's tools name it: "Ampere",
// "Ada Lovelace". Empty: there is none known.
std::string_view Architecture(int major, int minor);

}  // namespace gantry::gpu
