// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "operator/doctor/facts.h"
#include "operator/doctor/finding.h"

namespace gantry::doctor {

// Why pods that have a node are not started there, or were refused by its kubelet.
void ExamineStarts(const ClusterFacts& cluster, std::vector<Finding>& findings);

// Whether the words of a pod's event say that it is not started for a reason that has a finding.
bool IsKnownStartFailure(std::string_view message);

}  // namespace gantry::doctor
