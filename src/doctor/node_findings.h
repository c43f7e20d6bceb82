// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "doctor/finding.h"
#include "doctor/node_stage.h"

namespace gantry::doctor {

// What keeps GPUs of nodes from being offered, one finding for each cause: of what follows from
// another, one of an operand's in `findings` too, only the other is reported. Nodes without GPUs
// have none.
void ExamineNodes(const StagedCluster& cluster, std::vector<Finding>& findings);

}  // namespace gantry::doctor
