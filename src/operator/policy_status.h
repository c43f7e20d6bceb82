// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "operator/verdict.h"

namespace gantry::gpu_operator {

// The base of a new status. Conditions whose status has not changed keep their transition time.
struct StatusEdit {
  Json before;           // the present status, or null
  long long generation;  // of the object's spec (metadata.generation)
  WallTime now;
};

// The status of a ClusterPolicy or GPUCluster.
Json StatusOf(const Verdict& verdict, const VerdictInput& input, const StatusEdit& edit);
// For a policy that is not the oldest of its kind ("ClusterPolicy first").
Json IgnoredStatus(std::string_view oldest, const StatusEdit& edit);
// For the GPUClusterPolicy that counts, from the status of what was reconciled with it; `partly`
// lists its own fields without effect.
Json ShortFormStatus(const Json& reconciled, std::string_view partly, const StatusEdit& edit);
// For a NVIDIADriver, or for a policy that can't be read.
Json BriefStatus(const Verdict& verdict, std::string_view ns, const StatusEdit& edit);

// Whether two statuses differ in anything but the times of conditions.
bool SameStatus(const Json& left, const Json& right);

// The same, or different only in messages and in the drivers' upgrades: these change while pods
// start, and with every step of every node.
bool SameButMessages(const Json& left, const Json& right);

// The merge patch (RFC 7396) from one status to the other: removed keys are null, at any depth.
Json StatusPatch(const Json& before, const Json& after);

}  // namespace gantry::gpu_operator
