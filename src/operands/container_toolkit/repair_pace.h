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

// When what failed is tried again although nothing was seen to change; nothing: not before.
std::optional<std::chrono::seconds> RetryAfter(ErrorKind kind);

// Two who each put the other's edit right would do so for ever, and restart the container runtime
// each time. Who is one of them finds out here, by what it did to one thing within a minute.
class RepairPace {
 public:
  static constexpr int kWrites = 20;   // of one file
  static constexpr int kRestarts = 5;  // of the container runtime
  static constexpr std::chrono::seconds kWindow{60};

  void Wrote(const std::vector<std::string>& paths, SteadyTime now);
  void Restarted(SteadyTime now);

  // Until when to leave things as they are; `now` if nothing was done too often.
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
