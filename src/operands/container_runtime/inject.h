// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "container/inventory.h"
#include "operands/container_runtime/runtime_config.h"

namespace gantry::container_runtime {

// Where the node is, for the process that asks: another place only in tests.
struct NodePlaces {
  std::string root = "/";  // of the host: proc, sys, dev
  std::string inventory = container::kInventoryPath;
  container::HookProgram hook;  // which documents name
};

// The node's driver and GPUs: the inventory that the toolkit keeps, if it is of the driver that is
// loaded, else what is found on the disk and in procfs now. kNotFound: no driver.
Result<container::NodeInventory> FindInventory(const RuntimeConfig& settings,
                                               const NodePlaces& places);

// What lies on the disk below a driver root, with the GPUs of the inventory or else of procfs;
// their brand and architecture are known from the inventory only. kNotFound: no driver.
Result<container::NodeInventory> LookAtNode(const container::DriverPlace& place,
                                            const NodePlaces& places);

// Adds the devices that the bundle's config.json asks for, and replaces the file in one step; not
// written if nothing is asked for. The message of an error is for the pod's event.
Status InjectDevices(const std::string& bundle, const RuntimeConfig& settings,
                     const NodePlaces& places, std::vector<std::string>& warnings);

}  // namespace gantry::container_runtime
