// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "operands/sandbox_device_plugin/allocate.h"
#include "operands/sandbox_device_plugin/resources.h"

namespace gantry::sandbox_device_plugin {

// Where a node's files are. Tests use folders.
struct Places {
  std::string sys = "/sys";
  std::string host_root = "/";  // the host's root as mounted here, for its device nodes
  std::string pci_ids = "/usr/share/misc/pci.ids";
};

// Reads the node from sysfs and /dev/vfio. Names are of this image's PCI database, not the host's:
// they must not change with the host's edition.
Result<Node> ReadNode(const Places& places);
DeviceNodes ReadDeviceNodes(const Places& places, const Node& node);

}  // namespace gantry::sandbox_device_plugin
