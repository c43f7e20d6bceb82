// SPDX-License-Identifier: Apache-2.0
// What time is it, and how does the Kubernetes API write it?
#include "base/clock.h"

#include <ctime>

#include "base/text.h"

namespace gantry {
namespace {

class SystemClock : public Clock {
 public:
  [[nodiscard]] SteadyTime Now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] WallTime Wall() const override { return std::chrono::system_clock::now(); }
};

std::tm Utc(WallTime time) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

const Clock& RealClock() {
  static const SystemClock clock;
  return clock;
}

std::string Rfc3339(WallTime time) {
  const std::tm t = Utc(time);
  return format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
                t.tm_hour, t.tm_min, t.tm_sec);
}

std::string Rfc3339Micro(WallTime time) {
  const std::tm t = Utc(time);
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(
      time - std::chrono::floor<std::chrono::seconds>(time));
  return format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", t.tm_year + 1900, t.tm_mon + 1,
                t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, micro.count());
}

}  // namespace gantry
