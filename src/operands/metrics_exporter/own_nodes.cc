// SPDX-License-Identifier: Apache-2.0
// Must the container be started anew to see the node's GPUs? The device cgroup and /dev of an
// unprivileged container are those of its start. A node that the host lacks is no reason: a new
// container would not get it either, and would end again.
#include "operands/metrics_exporter/own_nodes.h"

#include <algorithm>

namespace gantry::metrics_exporter {

std::string OutdatedNode(const std::vector<NodeSeen>& nodes) {
  const auto found = std::ranges::find_if(
      nodes, [](const NodeSeen& node) { return node.host && node.host != node.own; });
  return found == nodes.end() ? "" : found->path;
}

}  // namespace gantry::metrics_exporter
