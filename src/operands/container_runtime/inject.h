// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "container/inventory.h"
#include "operands/container_runtime/runtime_config.h"

namespace gantry::container_runtime {

// The node's paths for this process; other ones only in tests.
struct NodePlaces {
  std::string root = "/";  // of the host: proc, sys, dev
  std::string inventory = container::kInventoryPath;
  container::HookProgram hook;  // named in documents
};

// The node's driver and GPUs: the toolkit's inventory, if it is of the loaded driver, else from the
// disk and procfs. kNotFound: no driver.
Result<container::NodeInventory> FindInventory(const RuntimeConfig& settings,
                                               const NodePlaces& places);

// The files below a driver root, with the GPUs of the inventory or else of procfs; only the
// inventory has their brand and architecture. kNotFound: no driver.
Result<container::NodeInventory> LookAtNode(const container::DriverPlace& place,
                                            const NodePlaces& places);

// Adds the devices that the bundle's config.json requests, and replaces the file in one step; does
// not write it without a request. The pod's event shows the error's message.
Status InjectDevices(const std::string& bundle, const RuntimeConfig& settings,
                     const NodePlaces& places, std::vector<std::string>& warnings);

}  // namespace gantry::container_runtime
