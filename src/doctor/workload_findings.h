// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace gantry::doctor {

// Whether what a container of a pod with GPUs wrote says why it ended.
bool SaysWhy(const ClusterFacts& cluster, const ContainerFacts& container);

// Why pods with GPUs end again and again, if it is for a reason that their GPUs have.
void ExamineWorkloadContainers(const ClusterFacts& cluster, std::vector<Finding>& findings);

}  // namespace gantry::doctor
