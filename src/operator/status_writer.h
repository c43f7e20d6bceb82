// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "kube/client.h"
#include "kube/events.h"
#include "operator/policy_status.h"

namespace gantry::gpu_operator {

// Writes the statuses of policies, each only if it differs, and their events. One thread.
class StatusWriter {
 public:
  StatusWriter(kube::Client& client, kube::EventRecorder& events, const Clock& clock)
      : client_(client), events_(events), clock_(clock) {}

  // The base of a new status of the object.
  [[nodiscard]] StatusEdit EditOf(const Json& object) const;
  // Blocks for its request. No error if the object is gone.
  Status Write(const kube::Kind& kind, const Json& object, const Json& status);
  // The same, but a difference in messages alone waits until the last such write is long enough
  // ago; then it returns the time to wait, and writes nothing.
  Result<std::optional<std::chrono::milliseconds>> WriteInGroups(const kube::Kind& kind,
                                                                 const Json& object,
                                                                 const Json& status);
  // Writes an event and a log line if state or reason differ from `recorded`, which is updated.
  // Empty: this process has recorded nothing.
  void RecordEvent(const Json& object, const Verdict& verdict, std::string& recorded);

  // Writes since the start. Thread-safe.
  [[nodiscard]] long long writes() const { return writes_; }

 private:
  kube::Client& client_;
  kube::EventRecorder& events_;
  const Clock& clock_;
  SteadyTime written_in_groups_{};
  std::atomic<long long> writes_ = 0;
};

}  // namespace gantry::gpu_operator
