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

// Whether the stored object is as desired: every desired field is present and equal, and the only
// others are those that the API server adds, and labels and annotations of the object itself that
// others added (not those that names::kWrittenKeys lists).
bool IsAsDesired(const Json& desired, const Json& observed);

// The same for one field that both may have.
bool SameIn(const std::string& key, const Json& desired, const Json& observed);

// The object to replace the observed one: as desired, with the labels and annotations that others
// added, and the time of a `kubectl rollout restart`.
Json Replacement(const Json& desired, const Json& observed);

// Whether a policy, a GPUCluster or a NVIDIADriver is an owner of the object.
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

// Two desired objects of one identity: each would overwrite the other, in a loop.
struct Double {
  ObjectKey key;
  std::string message;           // names both, and what to do
  std::set<std::string> owners;  // uids, of both
};
// Removes such objects from the desired ones, and adds their owners to `incomplete`, so that
// existing objects are kept. Of two equal ones, one stays desired, without a message.
std::vector<Double> TakeOutDoubles(std::vector<const Json*>& desired,
                                   std::set<Incomplete>& incomplete);

// `observed` are the objects with Gantry's label. Those that a policy (ClusterPolicy,
// GPUClusterPolicy), a GPUCluster or a NVIDIADriver owns and that are not desired are removed,
// except objects of the incomplete.
Plan MakePlan(const std::vector<Json>& desired, const std::map<ObjectKey, Json>& observed,
              const std::set<Incomplete>& incomplete);

}  // namespace gantry::gpu_operator
