// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "operands/device_plugin/xid_policy.h"

namespace gantry::device_plugin {

// A GPU went out of service or came back.
struct HealthChange {
  std::string uuid;
  bool healthy = false;
  std::string reason;  // why it went; for one that came back, why it had gone
  bool operator==(const HealthChange&) const = default;
};

// The health of each GPU, from what was seen of it alone: healthy; unhealthy after a fatal XID or
// an unanswered probe; recovering while probes succeed again, and healthy after kRecovery of that.
class HealthBook {
 public:
  // Between two probes of a GPU while all are healthy: a GPU can stop answering without an event.
  static constexpr std::chrono::seconds kProbePause{10};
  // While one is not.
  static constexpr std::chrono::seconds kReprobePause{2};
  // Longer than the kubelet's status period (10 s), so that a failure is seen by others too.
  static constexpr std::chrono::seconds kRecovery{15};

  explicit HealthBook(XidPolicy policy) : policy_(std::move(policy)) {}

  // The GPUs to keep book on; those known already keep their state.
  void Track(const std::vector<std::string>& uuids);
  std::optional<HealthChange> OnXid(const std::string& uuid, uint64_t xid, SteadyTime now);
  // The answer of a GPU to a probe; kTimeout: it did not answer in time.
  std::optional<HealthChange> OnProbe(const std::string& uuid, const Status& answer,
                                      SteadyTime now);

  [[nodiscard]] std::set<std::string> unhealthy() const;
  // When to probe next if the last round was at that time; nothing: never.
  [[nodiscard]] std::optional<SteadyTime> NextProbe(SteadyTime last) const;
  [[nodiscard]] const XidPolicy& policy() const { return policy_; }

 private:
  struct Gpu {
    bool healthy = true;
    std::string reason;                    // of an unhealthy one
    std::optional<SteadyTime> good_since;  // probes have succeeded since, without a fatal XID
  };

  static std::optional<HealthChange> Lose(const std::string& uuid, Gpu& gpu, std::string reason);

  XidPolicy policy_;
  std::map<std::string, Gpu> gpus_;
};

}  // namespace gantry::device_plugin
