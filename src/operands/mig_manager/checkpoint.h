// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "gpu/mig_plan.h"
#include "nvml/mig_control.h"

// The file of `nvidia-mig-parted checkpoint`: how each GPU that can be divided is divided, in terms
// of NVML. All of it pure.
namespace gantry::mig_manager {

Json CheckpointOf(std::span<const nvml::MigGpu> gpus);

// UUID of the GPU -> its layout. kInvalid names the key.
Result<std::map<std::string, gpu::MigLayout>> LayoutsIn(const Json& checkpoint);
Result<std::map<std::string, gpu::MigLayout>> ParseCheckpoint(std::string_view text);

}  // namespace gantry::mig_manager
