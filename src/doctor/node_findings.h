// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "doctor/finding.h"
#include "doctor/node_stage.h"

namespace gantry::doctor {

// Why nodes' GPUs are not offered, one finding for each cause: a consequence of another finding,
// also of an operand's in `findings`, is not reported. Nodes without GPUs have none.
void ExamineNodes(const StagedCluster& cluster, std::vector<Finding>& findings);

}  // namespace gantry::doctor
