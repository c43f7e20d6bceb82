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

// healthy -> suspect:     an XID that may be the hardware's, or one of an unknown GPU; in service,
//                         probed often
// suspect -> healthy:     kRecovery of answered probes
// any -> unhealthy:       an XID that is the hardware's, or a probe that fails; out of service
// unhealthy -> recovering -> healthy: the first answered probe, and kRecovery of them
enum class Health { kHealthy, kSuspect, kUnhealthy, kRecovering };

std::string_view Name(Health health);  // "healthy", ...
constexpr bool InService(Health health) {
  return health == Health::kHealthy || health == Health::kSuspect;
}

// An XID event from the driver: of a GPU, or of the MIG devices of one instance.
struct XidEvent {
  std::string gpu_uuid;  // empty: an unknown GPU
  uint64_t xid = 0;
  std::optional<unsigned> gpu_instance = {};
  std::optional<unsigned> compute_instance = {};
};

// A GPU or a MIG device changed its state.
struct HealthChange {
  std::string uuid;
  Health from = Health::kHealthy;
  Health to = Health::kHealthy;
  std::string reason;  // why it is not healthy; after a recovery, why it was not
  bool operator==(const HealthChange&) const = default;
};

// The health of each GPU and MIG device, decided from its own events and probes.
class HealthBook {
 public:
  // The pause between two probes while all are healthy: a GPU can stop answering without an event.
  static constexpr std::chrono::seconds kProbePause{10};
  // The pause while one is not.
  static constexpr std::chrono::seconds kReprobePause{2};
  // Longer than the kubelet's status period (10 s), so that the Node shows a failure too.
  static constexpr std::chrono::seconds kRecovery{15};

  // For later events; judgements made so far are kept.
  void SetPolicy(XidPolicy policy) { policy_ = std::move(policy); }
  // The GPUs to track, or the MIG devices of GPUs that have some; those already tracked keep their
  // state.
  void Track(const std::vector<Gpu>& gpus);

  std::vector<HealthChange> OnXid(const XidEvent& event, SteadyTime now);
  // A GPU's result of a probe; kTimeout: it did not answer in time.
  std::vector<HealthChange> OnProbe(const std::string& gpu_uuid, const Status& answer,
                                    SteadyTime now);

  // UUIDs of the GPUs and MIG devices that must not be given to a container.
  [[nodiscard]] std::set<std::string> out_of_service() const;
  // The reason for each of those; UUID -> reason.
  [[nodiscard]] std::map<std::string, std::string> reasons() const;
  // When to probe next if the last round was at that time; nothing: never.
  [[nodiscard]] std::optional<SteadyTime> NextProbe(SteadyTime last) const;

 private:
  struct Entry {
    std::string gpu_uuid;
    std::optional<unsigned> gpu_instance;
    std::optional<unsigned> compute_instance;
    Health health = Health::kHealthy;
    std::string reason;                    // if it is not healthy
    std::optional<SteadyTime> good_since;  // start of good probes without another XID
  };

  static void Move(const std::string& uuid, Entry& entry, Health to, const std::string& reason,
                   std::vector<HealthChange>& changes);

  XidPolicy policy_ = MakeXidPolicy({}, "", "");
  std::map<std::string, Entry> entries_;  // by UUID
};

}  // namespace gantry::gpu
