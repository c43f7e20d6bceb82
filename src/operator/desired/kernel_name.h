// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry::gpu_operator {

// A kernel release as NVIDIA's DaemonSets of precompiled drivers have it in their names: without
// the machine, with dots.
std::string ShortKernel(std::string_view kernel);
// The same with the machine, which tells kernels of several architectures and page sizes apart.
std::string DottedKernel(std::string_view kernel);

}  // namespace gantry::gpu_operator
