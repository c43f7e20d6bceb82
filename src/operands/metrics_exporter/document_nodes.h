// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "operands/metrics_exporter/own_nodes.h"

namespace gantry::metrics_exporter {

// The container toolkit's CDI document for management containers, at its usual place below the
// host's root as mounted here. It need not exist.
std::string ManagementDocument(const std::string& host_root);

// The device nodes that its device `all` gives to a container with the driver capability
// `utility`, with their numbers on the host and in this container. Blocks on the disk only.
// kNotFound: there is no document, or no such device in it; kInvalid, kUnsupported: it can't be
// read as CDI.
Result<std::vector<NodeSeen>> NodesInDocument(const std::string& document,
                                              const std::string& host_root);

}  // namespace gantry::metrics_exporter
