// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvml/nvml.h"
#include "nvml/symbols.h"

namespace gantry::nvml {

// Fills device.mig_devices of a GPU in MIG mode; device.index and memory_bytes are read already.
// MIG devices destroyed meanwhile are left out. An error: the GPU itself does not answer.
Status ReadMigDevices(const Symbols& symbols, nvmlDevice_t gpu, Device& device);

}  // namespace gantry::nvml
