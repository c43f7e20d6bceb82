// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "host/driver_verdict.h"

// Looks for a driver on this node. Reads files only; makes no call into the driver.
namespace gantry::host {

struct DriverPlaces {
  std::string host_root = "/host";                // where the host's root is mounted here
  std::string driver_dir = "/run/nvidia/driver";  // of a driver container, as the host spells it
  bool container_ready = false;        // its .driver-ctr-ready counts, or no container installs it
  std::string container_failure = {};  // why it has no driver, as it says
};

DriverObservation ObserveDriver(const DriverPlaces& places);

// Paths, as this process spells them, whose changes can change the verdict: library folders, /dev.
// Not the kernel module: procfs sends no events.
std::vector<std::string> DriverPathsToWatch(const DriverPlaces& places);

}  // namespace gantry::host
