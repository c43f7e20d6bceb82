// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "operator/doctor/facts.h"
#include "operator/doctor/finding.h"

namespace gantry::doctor {

// Why pods that have a node are not started there, or were refused by its kubelet.
void ExamineStarts(const ClusterFacts& cluster, std::vector<Finding>& findings);

// What the words of a container runtime say of a start that failed, of no object yet; nothing if
// they are in nobody's table.
std::optional<Finding> StartFailure(std::string_view words);

}  // namespace gantry::doctor
