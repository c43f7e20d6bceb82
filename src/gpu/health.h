// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "gpu/gpu_set.h"
#include "gpu/xid_policy.h"

namespace gantry::gpu {

// healthy -> suspect:     an XID that may be the hardware's, or one of a GPU that nobody knows; in
//                         service, probed often
// suspect -> healthy:     kRecovery of answered probes
// any -> unhealthy:       an XID that is the hardware's, or a probe that fails; out of service
// unhealthy -> recovering -> healthy: the first answered probe, and kRecovery of them
enum class Health { kHealthy, kSuspect, kUnhealthy, kRecovering };

std::string_view Name(Health health);  // "healthy", ...
constexpr bool InService(Health health) {
  return health == Health::kHealthy || health == Health::kSuspect;
}

// An XID as the driver told it: of a GPU, or of the MIG devices of one instance.
struct XidEvent {
  std::string gpu_uuid;  // empty: a GPU that nobody knows
  uint64_t xid = 0;
  std::optional<unsigned> gpu_instance = {};
  std::optional<unsigned> compute_instance = {};
};

// A GPU or a MIG device came into another state.
struct HealthChange {
  std::string uuid;
  Health from = Health::kHealthy;
  Health to = Health::kHealthy;
  std::string reason;  // why it is not healthy; for one that is again, why it was not
  bool operator==(const HealthChange&) const = default;
};

// The health of each GPU and MIG device, from what was seen of it alone.
class HealthBook {
 public:
  // Between two probes of a GPU while all are healthy: a GPU can stop answering without an event.
  static constexpr std::chrono::seconds kProbePause{10};
  // While one is not.
  static constexpr std::chrono::seconds kReprobePause{2};
  // Longer than the kubelet's status period (10 s), so that a failure is seen by others too.
  static constexpr std::chrono::seconds kRecovery{15};

  // From now on; what was judged stays so.
  void SetPolicy(XidPolicy policy) { policy_ = std::move(policy); }
  // The GPUs to keep book on, or the MIG devices of those that have some; those known already keep
  // their state.
  void Track(const std::vector<Gpu>& gpus);

  std::vector<HealthChange> OnXid(const XidEvent& event, SteadyTime now);
  // The answer of a GPU to a probe; kTimeout: it did not answer in time.
  std::vector<HealthChange> OnProbe(const std::string& gpu_uuid, const Status& answer,
                                    SteadyTime now);

  // UUIDs of the GPUs and MIG devices that must not be given to a container.
  [[nodiscard]] std::set<std::string> out_of_service() const;
  // Why each of those is; UUID -> reason.
  [[nodiscard]] std::map<std::string, std::string> reasons() const;
  // When to probe next if the last round was at that time; nothing: never.
  [[nodiscard]] std::optional<SteadyTime> NextProbe(SteadyTime last) const;

 private:
  struct Entry {
    std::string gpu_uuid;
    std::optional<unsigned> gpu_instance;
    std::optional<unsigned> compute_instance;
    Health health = Health::kHealthy;
    std::string reason;                    // of one that is not healthy
    std::optional<SteadyTime> good_since;  // probes were answered since, without another XID
  };

  static void Move(const std::string& uuid, Entry& entry, Health to, const std::string& reason,
                   std::vector<HealthChange>& changes);

  XidPolicy policy_ = MakeXidPolicy({}, "", "");
  std::map<std::string, Entry> entries_;  // by UUID
};

}  // namespace gantry::gpu
