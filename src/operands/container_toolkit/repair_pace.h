// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace gantry::container_toolkit {

// When a failure is retried without a change; nothing: only after a change.
std::optional<std::chrono::seconds> RetryAfter(ErrorKind kind);

// Two programs that each revert the other's edit would do so for ever, and restart the container
// runtime each time. This detects it by the number of own writes within a minute.
class RepairPace {
 public:
  static constexpr int kWrites = 20;   // of one file
  static constexpr int kRestarts = 5;  // of the container runtime
  static constexpr std::chrono::seconds kWindow{60};

  void Wrote(const std::vector<std::string>& paths, SteadyTime now);
  void Restarted(SteadyTime now);

  // Until when to pause; `now` if nothing was done too often.
  [[nodiscard]] SteadyTime NextAt(SteadyTime now) const;

 private:
  struct Count {
    int times = 0;
    SteadyTime since{};
  };
  static void Note(Count& count, SteadyTime now);

  std::map<std::string, Count> writes_;
  Count restarts_;
};

}  // namespace gantry::container_toolkit
