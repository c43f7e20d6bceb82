// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "operator/doctor/facts.h"
#include "operator/doctor/finding.h"

namespace gantry::doctor {

// What keeps GPUs of nodes from being offered, one finding for each cause: of what follows from
// another, only the other is told. Nodes without GPUs have none.
void ExamineNodes(const ClusterFacts& cluster, std::vector<Finding>& findings);

// Whether its driver or its MIG layout is being changed: its GPUs come and go meanwhile.
bool IsChanging(const NodeFacts& node);

// Whether pods on it may not be ready for a reason of the node's own, or not be yet.
bool IsUnsettled(const ClusterFacts& cluster, const NodeFacts& node);

// How far a GPU node is, in a word or two for a table: "ready", or the first thing that is missing
// of what the operator puts on that node.
std::string StageOf(const ClusterFacts& cluster, const NodeFacts& node);

// Whether the node has, or should have, GPUs.
bool HasGpu(const NodeFacts& node);

}  // namespace gantry::doctor
