// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry::gpu_operator {

// A kernel release as in the names of NVIDIA's DaemonSets of precompiled drivers: without the
// machine, with dots.
std::string ShortKernel(std::string_view kernel);
// The same with the machine, which distinguishes kernels of several architectures and page sizes.
std::string DottedKernel(std::string_view kernel);

}  // namespace gantry::gpu_operator
