// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace gantry::doctor {

// Whether the log of a container of a pod with GPUs explains its end.
bool SaysWhy(const ClusterFacts& cluster, const ContainerFacts& container);

// Why pods with GPUs fail repeatedly, if the cause is in their GPUs.
void ExamineWorkloadContainers(const ClusterFacts& cluster, std::vector<Finding>& findings);

}  // namespace gantry::doctor
