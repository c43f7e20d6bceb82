// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "operands/vfio_manager/places.h"
#include "operands/vfio_manager/plan.h"

namespace gantry::vfio_manager {

// Reads the node's PCI functions and drivers from sysfs, and which module each of NVIDIA's fits. No
// holders yet.
Result<Facts> ReadFacts(const Places& places);

// Adds who holds the functions: processes of the host with a device node of them open.
// kUnavailable: the host's processes are not seen, so that nobody may be cut off.
Status AddHolders(const Places& places, Facts& facts);

}  // namespace gantry::vfio_manager
