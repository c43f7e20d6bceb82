// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace gantry::doctor {

// Why operands' containers do not run. Those of one operand with the same cause on several nodes
// are one finding.
void ExamineOperandContainers(const ClusterFacts& cluster, std::vector<Finding>& findings);

// A remedy that speaks of an operand's section, for the operator, which has none: in the fields of
// the chart.
std::string ForOperator(std::string remedy);

// Whether what a container of a pod with GPUs wrote says why it ended.
bool SaysWhy(const ClusterFacts& cluster, const ContainerFacts& container);

// Why pods with GPUs end again and again, if it is for a reason that their GPUs have.
void ExamineWorkloadContainers(const ClusterFacts& cluster, std::vector<Finding>& findings);

}  // namespace gantry::doctor
