// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "doctor/facts.h"
#include "doctor/finding.h"

// Problems of a cluster's GPUs and of their users, in one line each.
namespace gantry::doctor {

// The cluster's own findings first, then those of nodes, then those of workloads. Pods of one owner
// with the same finding are joined. docs/doctor.md has every code.
std::vector<Finding> Examine(const ClusterFacts& cluster);

// "problem  CODE  object: message; remedy", or "note   " before the code
std::string LineOf(const Finding& finding);
// A line each.
std::string TextOf(const std::vector<Finding>& findings);
Json JsonOf(const std::vector<Finding>& findings);

}  // namespace gantry::doctor
