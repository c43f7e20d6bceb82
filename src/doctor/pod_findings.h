// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace gantry::doctor {

// Why pods with GPUs wait for the scheduler; pods of one owner with the same finding are one.
void ExaminePods(const ClusterFacts& cluster, std::vector<Finding>& findings);

// What the scheduler says of a pod before it speaks of preemption.
std::string FirstSentence(const std::string& message);

}  // namespace gantry::doctor
