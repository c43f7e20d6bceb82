// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/driver_root.h"
#include "operands/container_toolkit/flags.h"

namespace gantry::container_toolkit {

// Which driver do containers get? The one below the driver root that the flags name, if it can be
// used; else the node's. A device root that is named stands in the place of the driver's own; what
// can be used is judged by the nodes of the driver's all the same.
host::DriverVerdict ChooseDriver(const Flags& flags, const host::DriverPlaces& places);

// Paths whose changes can change that.
std::vector<std::string> DriverPathsToWatch(const Flags& flags, const host::DriverPlaces& places);

}  // namespace gantry::container_toolkit
