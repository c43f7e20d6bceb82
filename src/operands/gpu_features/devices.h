// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "operands/gpu_features/facts.h"
#include "policy/device.h"

namespace gantry::gpu_features {

// The GPUs of a node, by PCI address: those on the bus, with what the driver says of each. One that
// the driver does not answer for is there with its place alone, and an index that is left over.
std::vector<policy::DeviceFacts> DevicesOf(const Facts& facts);

}  // namespace gantry::gpu_features
