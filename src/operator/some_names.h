// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gantry::gpu_operator {

// The first five, for a message: "a, b, c, d, e and 7 more".
std::string SomeNames(const std::vector<std::string>& names);

}  // namespace gantry::gpu_operator
