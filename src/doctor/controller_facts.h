// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "doctor/facts.h"

namespace gantry::doctor {

// Whether a pod, or a controller of pods, in the operator's namespace is an operand's or the
// operator's: other workloads may share it. Without the right to read DaemonSets all count as
// operands'.
bool IsOperandPod(const ClusterFacts& cluster, const Json& pod);
bool IsOperandController(const ClusterFacts& cluster, const Json& controller);

// Whether a ReplicaSet, Job or other controller's object still lacks pods: events of the last hour
// may be outdated.
bool LacksPods(const Json& controller);

// Whether a Job has succeeded, even if some of its pods failed.
bool HasSucceeded(const Json& job);

}  // namespace gantry::doctor
