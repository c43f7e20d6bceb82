// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "doctor/finding.h"
#include "doctor/node_stage.h"

namespace gantry::doctor {

// Mistakes in the policies' own fields, from the operator's conditions and status.
void ExaminePolicyFields(const ClusterFacts& cluster, std::vector<Finding>& findings);

// Policies that are not ready, and why. `others` are the findings about cluster, operands and
// nodes: a policy refers to them, and is not excused by a new node while one of them is a problem.
std::vector<Finding> ExaminePolicyStates(const StagedCluster& cluster,
                                         const std::vector<Finding>& others);

}  // namespace gantry::doctor
