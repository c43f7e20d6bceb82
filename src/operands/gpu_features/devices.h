// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "operands/gpu_features/facts.h"
#include "policy/device.h"

namespace gantry::gpu_features {

// The GPUs of a node, by PCI address: those on the bus, with the driver's facts on each. One
// without an answer from the driver has only its address, and an unused index.
std::vector<policy::DeviceFacts> DevicesOf(const Facts& facts);

}  // namespace gantry::gpu_features
