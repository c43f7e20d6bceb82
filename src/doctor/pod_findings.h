// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "doctor/finding.h"
#include "doctor/node_stage.h"

namespace gantry::doctor {

// Why pods with GPUs wait for the scheduler; pods of one owner with the same finding are one.
void ExaminePods(const StagedCluster& cluster, std::vector<Finding>& findings);

}  // namespace gantry::doctor
