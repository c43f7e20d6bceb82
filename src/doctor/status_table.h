// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.h"

namespace gantry::doctor {

// Rows of cells as aligned columns, two spaces between them, no spaces at the ends of lines.
std::string Aligned(const std::vector<std::vector<std::string>>& rows);

// The output of `gantry status`: the policy, the operands, and the GPU nodes with their stages.
std::string StatusText(const ClusterFacts& cluster);

// The same for a terminal of that size: drawn over the previous output, cut to rows and columns.
std::string Screen(std::string_view text, size_t rows, size_t columns);

}  // namespace gantry::doctor
