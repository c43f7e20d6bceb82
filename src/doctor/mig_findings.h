// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "doctor/facts.h"
#include "doctor/finding.h"
#include "doctor/node_stage.h"

namespace gantry::doctor {

// What a pending change of the MIG layout waits for, or why it failed.
std::optional<Finding> MigChange(const StagedCluster& cluster, const NodeFacts& node);

// GPUs of one node that the MIG strategy `single` can't offer.
std::optional<Finding> LayoutsDiffer(const NodeFacts& node);

// A requested layout that no MIG manager will apply.
std::optional<Finding> MigUnmanaged(const ClusterFacts& cluster, const NodeFacts& node);

}  // namespace gantry::doctor
