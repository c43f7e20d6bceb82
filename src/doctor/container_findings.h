// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "doctor/finding.h"
#include "doctor/node_stage.h"

namespace gantry::doctor {

// Why operands' containers do not run. Those of one operand with the same cause on several nodes
// are one finding.
void ExamineOperandContainers(const StagedCluster& cluster, std::vector<Finding>& findings);

}  // namespace gantry::doctor
