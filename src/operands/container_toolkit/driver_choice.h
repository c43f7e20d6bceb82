// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/driver_root.h"
#include "operands/container_toolkit/flags.h"

namespace gantry::container_toolkit {

// Which driver do containers get? The one below the flags' driver root, if it is usable; else the
// node's. A given device root replaces the driver's own, but whether a driver is usable is still
// judged by its own nodes.
host::DriverVerdict ChooseDriver(const Flags& flags, const host::DriverPlaces& places);

// Paths whose changes can change the choice.
std::vector<std::string> DriverPathsToWatch(const Flags& flags, const host::DriverPlaces& places);

}  // namespace gantry::container_toolkit
