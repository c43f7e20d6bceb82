// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "operator/object_key.h"

namespace gantry::gpu_operator {

// Whether what the API server has is what was asked for: every field that was asked for is there
// and equal, and besides there are only what the API server fills in by itself, and labels and
// annotations of the object itself that others added (not those that names::kWrittenKeys names).
bool IsAsDesired(const Json& desired, const Json& observed);

// The same of one field that both may have.
bool SameIn(const std::string& key, const Json& desired, const Json& observed);

// The object to put in the place of the observed one: as desired, with the labels and annotations
// that others added, and the time of a `kubectl rollout restart`.
Json Replacement(const Json& desired, const Json& observed);

// Whether a policy or a NVIDIADriver is an owner of the object.
bool IsOwnedByPolicy(const Json& object);

struct Plan {
  std::vector<Json> create;
  std::vector<Json> replace;
  std::vector<ObjectKey> remove;
  std::vector<ObjectKey> orphan;  // DaemonSets to remove without their pods
  [[nodiscard]] bool empty() const {
    return create.empty() && replace.empty() && remove.empty() && orphan.empty();
  }
};

// Objects that could not all be made: those of an owner, or of one of its operands.
struct Incomplete {
  std::string owner;       // uid
  std::string state = {};  // of names::kOperandState; empty: all of the owner's
  auto operator<=>(const Incomplete&) const = default;
};

// Two desired objects of one identity: each would be written over the other, again and again.
struct Double {
  ObjectKey key;
  std::string message;           // names both, and what to do
  std::set<std::string> owners;  // uids, of both
};
// Takes such objects out of the desired ones, and adds whose they are to `incomplete`, so that what
// is there stays. Of two that are equal, one stays desired, and nothing is said.
std::vector<Double> TakeOutDoubles(std::vector<const Json*>& desired,
                                   std::set<Incomplete>& incomplete);

// `observed` are the objects that carry our label. Those that a policy (ClusterPolicy,
// GPUClusterPolicy) or a NVIDIADriver owns and nobody desires are removed, but what is there of the
// incomplete stays.
Plan MakePlan(const std::vector<Json>& desired, const std::map<ObjectKey, Json>& observed,
              const std::set<Incomplete>& incomplete);

}  // namespace gantry::gpu_operator
