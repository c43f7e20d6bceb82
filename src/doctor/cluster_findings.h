// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "doctor/finding.h"
#include "doctor/node_stage.h"

namespace gantry::doctor {

// Codes of what is wrong with the device plugin's configurations.
inline constexpr char kConfigInvalid[] = "PluginConfigInvalid";
inline constexpr char kConfigUnknown[] = "PluginConfigUnknown";
// No operator runs where one was.
inline constexpr char kOperatorStopped[] = "OperatorStopped";

// What concerns the cluster as a whole: what could not be looked at, the operator itself, parts
// that are there twice, and configurations that nobody can act on.
void ExamineCluster(const StagedCluster& cluster, std::vector<Finding>& findings);

}  // namespace gantry::doctor
