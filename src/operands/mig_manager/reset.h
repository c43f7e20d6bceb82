// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "nvml/mig_control.h"

namespace gantry::mig_manager {

// Resets one GPU with the driver's nvidia-smi, below `driver_root` as this process sees it; empty:
// the one in PATH. kUnavailable with what nvidia-smi says. Blocks, at most two minutes.
Status ResetGpu(const std::string& driver_root, const nvml::MigGpu& gpu);

}  // namespace gantry::mig_manager
