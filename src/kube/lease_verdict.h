// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "kube/object.h"

namespace gantry::kube {

// The lease as this candidate last saw it change. Another candidate's clock is never compared with
// ours: a lease runs out a full duration after we saw its last change.
struct LeaseSight {
  std::string holder;                     // spec.holderIdentity; empty: free
  std::string version;                    // resourceVersion: a renewal changes it
  SteadyTime changed{};                   // when we saw that version first
  std::chrono::milliseconds duration{0};  // the holder's own spec.leaseDurationSeconds
};

// What a lease read now says, given what was seen before.
LeaseSight See(const LeaseSight& before, const Json& lease, SteadyTime now);

// Whether a candidate may write itself into the lease.
enum class LeaseVerdict { kHeldByUs, kFree, kHeldByOther };
LeaseVerdict Judge(const LeaseSight& sight, std::string_view identity, SteadyTime now);

// The Lease object to store when `identity` takes, renews or gives back (empty identity) the lease.
// `stored` is the object as read (resourceVersion and foreign metadata are kept), or null for a new
// one.
Json NextLease(const Json& stored, const Key& key, std::string_view identity,
               std::chrono::milliseconds duration, WallTime now);

}  // namespace gantry::kube
