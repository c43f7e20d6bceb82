// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "doctor/finding.h"
#include "doctor/node_stage.h"

namespace gantry::doctor {

// What the upgrade of the node's driver waits for, or why it does not progress.
std::optional<Finding> DriverUpgrade(const StagedCluster& cluster, const NodeFacts& node);

// A node that is still cordoned by an upgrade that is no longer in progress.
std::optional<Finding> LeftCordoned(const StagedCluster& cluster, const NodeFacts& node);

}  // namespace gantry::doctor
