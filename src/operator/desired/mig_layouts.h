// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gantry::gpu_operator {

// The table of MIG layouts that a node's label nvidia.com/mig.config selects from, as
// nvidia-mig-parted reads it (version v1): NVIDIA's names and layouts.
std::string MigLayouts();

}  // namespace gantry::gpu_operator
