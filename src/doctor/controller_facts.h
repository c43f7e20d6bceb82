// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "doctor/facts.h"

namespace gantry::doctor {

// Whether a pod, or what makes pods, of the operator's namespace is an operand's or the operator's:
// others may share that namespace. Without the right to read DaemonSets all count as operands'.
bool IsOperandPod(const ClusterFacts& cluster, const Json& pod);
bool IsOperandController(const ClusterFacts& cluster, const Json& controller);

// Whether a ReplicaSet, Job or other controller's object still lacks pods: its events of an hour
// ago may be history.
bool LacksPods(const Json& controller);

// Whether a Job has done its work, whichever of its pods have failed.
bool HasSucceeded(const Json& job);

}  // namespace gantry::doctor
