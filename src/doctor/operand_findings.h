// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "doctor/finding.h"
#include "doctor/node_stage.h"

namespace gantry::doctor {

// The operator's Deployments without a running pod.
void ExamineOperators(const ClusterFacts& cluster, std::vector<Finding>& findings);

// Operands with fewer ready pods than desired. A node's own finding says what the node lacks: pods
// on it do not count.
void ExamineOperands(const StagedCluster& cluster, std::vector<Finding>& findings);

}  // namespace gantry::doctor
