// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "operator/doctor/facts.h"

namespace gantry::doctor {

// Rows of cells as aligned columns, two spaces between them, no spaces at the ends of lines.
std::string Aligned(const std::vector<std::vector<std::string>>& rows);

// What `gantry status` prints: the policy, the operands, the nodes with GPUs.
std::string StatusText(const ClusterFacts& cluster);

}  // namespace gantry::doctor
