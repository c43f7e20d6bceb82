// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace gantry {

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

// Time as an argument: code that waits, backs off or expires takes a Clock, so that tests control
// time.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual SteadyTime Now() const = 0;
  [[nodiscard]] virtual WallTime Wall() const = 0;
};

// The machine's clocks. Never destroyed.
const Clock& RealClock();

class FakeClock : public Clock {
 public:
  [[nodiscard]] SteadyTime Now() const override { return now_; }
  [[nodiscard]] WallTime Wall() const override { return wall_; }
  void Advance(std::chrono::nanoseconds by) {
    now_ += by;
    wall_ += std::chrono::duration_cast<WallTime::duration>(by);
  }

 private:
  SteadyTime now_{};
  WallTime wall_{};
};

// RFC 3339 in UTC: "2026-01-02T03:04:05Z" (metav1.Time), and with microseconds (metav1.MicroTime).
std::string Rfc3339(WallTime time);
std::string Rfc3339Micro(WallTime time);

}  // namespace gantry
