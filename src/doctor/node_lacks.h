// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "doctor/finding.h"
#include "doctor/node_stage.h"

namespace gantry::doctor {

// The finding for the reason in the node's stage; nothing: `findings` of operands and policies
// already explain it.
std::optional<Finding> WhyNoGpus(const StagedCluster& cluster, const std::vector<Finding>& findings,
                                 const NodeFacts& node);

// Whether the device plugin has a finding of its own there, or has had no time to register yet.
bool IsPluginAwaited(const StagedCluster& cluster, const std::vector<Finding>& findings,
                     const NodeFacts& node);

// Whether the node's device plugin rejects its settings.
bool RefusesSettings(const NodeFacts& node);
// That finding; nothing: a finding about its configuration explains it.
std::optional<Finding> OfSettings(const ClusterFacts& cluster, const std::vector<Finding>& findings,
                                  const NodeFacts& node);

}  // namespace gantry::doctor
