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
// this one's: a lease expires a full duration after this candidate saw its last change.
struct LeaseSight {
  std::string holder;                     // spec.holderIdentity; empty: free
  std::string version;                    // resourceVersion: a renewal changes it
  SteadyTime changed{};                   // when that version was first seen
  std::chrono::milliseconds duration{0};  // the holder's own spec.leaseDurationSeconds
};

// The state after reading a lease, given the state before.
LeaseSight See(const LeaseSight& before, const Json& lease, SteadyTime now);

// Whether a candidate may write itself into the lease.
enum class LeaseVerdict { kHeldByUs, kFree, kHeldByOther };
LeaseVerdict Judge(const LeaseSight& sight, std::string_view identity, SteadyTime now);

// The Lease object to store when `identity` takes, renews or releases (empty identity) the lease.
// `stored` is the object as read (resourceVersion and foreign metadata are kept), or null for a new
// one.
Json NextLease(const Json& stored, const Key& key, std::string_view identity,
               std::chrono::milliseconds duration, WallTime now);

}  // namespace gantry::kube
