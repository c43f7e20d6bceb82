// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "container/inventory.h"
#include "nvml/nvml.h"

// The node's driver and GPUs for the runtime at container starts (container/inventory.h), from the
// driver itself.
namespace gantry::container_toolkit {

// `cuda_version` as in NVML: 12020 is 12.2; 0: not known. `node_root`: holds the node's proc/ and
// sys/.
container::NodeInventory InventoryFrom(const container::DriverPlace& place,
                                       container::DriverInventory files, int cuda_version,
                                       const nvml::Devices& devices, const std::string& node_root);

// The inventory as text, from a process of its own: a call into a driver can hang. kTimeout if it
// does; kUnavailable if the driver does not answer.
Result<std::string> AskForInventory(const container::DriverPlace& place);

// That process: gpu-inventory ROOT HOST_ROOT DEV_ROOT HOST_DEV_ROOT NODE_ROOT prints the text. Exit
// status 1 with the reason on standard error.
int RunGpuInventory(int argc, char** argv);

}  // namespace gantry::container_toolkit
