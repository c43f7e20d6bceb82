// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "doctor/finding.h"
#include "doctor/node_stage.h"

namespace gantry::doctor {

// Codes of findings about the device plugin's configurations.
inline constexpr char kConfigInvalid[] = "PluginConfigInvalid";
inline constexpr char kConfigUnknown[] = "PluginConfigUnknown";
// The operator has run and no longer runs.
inline constexpr char kOperatorStopped[] = "OperatorStopped";

// Findings about the cluster itself: what could not be read, the operator, duplicate parts, and
// configurations without effect.
void ExamineCluster(const StagedCluster& cluster, std::vector<Finding>& findings);

}  // namespace gantry::doctor
