// SPDX-License-Identifier: Apache-2.0
// Who may hold a lease? As in client-go's leader election, so that its candidates and Gantry's can
// compete for the same lease (coordination.k8s.io/v1 Lease).
#include "kube/lease_verdict.h"

namespace gantry::kube {

LeaseSight See(const LeaseSight& before, const Json& lease, SteadyTime now) {
  LeaseSight sight{.holder = TextAt(lease, "spec.holderIdentity"),
                   .version = ResourceVersionOf(lease),
                   .changed = now,
                   .duration = std::chrono::seconds(IntAt(lease, "spec.leaseDurationSeconds", 0))};
  if (sight.version == before.version) {
    sight.changed = before.changed;
  }
  return sight;
}

LeaseVerdict Judge(const LeaseSight& sight, std::string_view identity, SteadyTime now) {
  if (sight.holder == identity) {
    return LeaseVerdict::kHeldByUs;
  }
  if (sight.holder.empty() || now >= sight.changed + sight.duration) {
    return LeaseVerdict::kFree;
  }
  return LeaseVerdict::kHeldByOther;
}

Json NextLease(const Json& stored, const Key& key, std::string_view identity,
               std::chrono::milliseconds duration, WallTime now) {
  Json lease = stored.is_object() ? stored : NewObject(kinds::kLease, key);
  const std::string holder = TextAt(lease, "spec.holderIdentity");
  Json& spec = lease["spec"];
  const std::string time = Rfc3339Micro(now);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(duration).count();
  spec["renewTime"] = time;
  if (identity.empty()) {
    // Released: expires at once (the API demands at least one second, and a name that is not
    // empty).
    spec.erase("holderIdentity");
    spec["leaseDurationSeconds"] = 1;
    return lease;
  }
  if (holder != identity) {
    spec["acquireTime"] = time;
    spec["leaseTransitions"] =
        stored.is_object() ? IntAt(stored, "spec.leaseTransitions", 0) + 1 : 0;
  }
  spec["holderIdentity"] = std::string(identity);
  spec["leaseDurationSeconds"] = seconds;
  return lease;
}

}  // namespace gantry::kube
