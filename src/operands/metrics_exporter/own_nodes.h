// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace gantry::metrics_exporter {

// A device node that the toolkit's CDI document gives to a container. The numbers are those that
// the kernel knows a device by; nullopt: no such device node.
struct NodeSeen {
  std::string path;  // in the container
  std::optional<dev_t> host = {};
  std::optional<dev_t> own = {};
};

// The first node that a container which starts now gets, and this one lacks or has with an earlier
// driver's numbers; empty if there is none.
std::string OutdatedNode(const std::vector<NodeSeen>& nodes);

}  // namespace gantry::metrics_exporter
