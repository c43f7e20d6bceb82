// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "gpu/gpu_set.h"
#include "gpu/health.h"
#include "nvml/nvml.h"

namespace gantry::gpu {

// The monitor's observations.
struct GpusFound {
  GpuSet set;
  uint64_t look = 0;  // the last Look that it answers
};
struct GpusMissing {
  Error error;  // NVML can't be opened, or does not answer
};
struct DriverClosed {};  // no GPU is open here any more, and none is opened until the next Look
struct GpusChanged {};   // MIG devices were made or removed: look again
struct WaitFailed {
  Error error;  // the error of the wait for events: some GPU may be lost
};
struct Probed {
  struct Answer {
    std::string uuid;
    Status status;  // kTimeout: the call did not return in time
  };
  std::vector<Answer> answers;
};
using Observation =
    std::variant<GpusFound, GpusMissing, DriverClosed, GpusChanged, WaitFailed, XidEvent, Probed>;

// The only part that calls NVML, on threads of its own, because a call into a driver can hang for
// ever. These threads pass observations to `tell`. A thread that hangs is abandoned, and another
// one continues with the other GPUs.
class Monitor {
 public:
  struct Options {
    std::filesystem::path driver_root;      // as seen here
    std::string host_root = "/";            // the folder that holds the node's sys/ and proc/
    std::function<void(Observation)> tell;  // must not call the monitor
    // The probe of a GPU; empty: whether it is alive. Called on those threads, for one GPU at a
    // time, except one that hung before and may return late.
    std::function<Status(const std::shared_ptr<nvml::Library>& library, const std::string& uuid)>
        ask = {};
    // Gives up what else keeps the library. Called on those threads, while no probe is under way,
    // before NVML is closed; must not call the monitor.
    std::function<void()> forget = [] {};
  };
  // How long a probe may take, and opening NVML and enumerating all GPUs.
  static constexpr std::chrono::seconds kProbeLimit{5};
  static constexpr std::chrono::seconds kLookLimit{30};

  explicit Monitor(Options options);
  // Does not wait for a pending call; nothing is reported after it returns.
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Opens NVML if needed, enumerates all GPUs, and listens for their events. During an enumeration:
  // once more after it. A GPU whose device node in this /dev is newer than the open session is
  // found too: NVML is closed first, as CloseDriver does. Returns the number of this look.
  uint64_t Look();
  // Closes NVML, so that another program can change a GPU that must not be open elsewhere, and
  // reports it then. A pending call is waited for, and the wait for events: the first time up to 5
  // s, later 1 s.
  void CloseDriver();
  // Probes each GPU, except those with a pending probe.
  void Probe(std::vector<std::string> uuids);
  // When a pending call is overdue; CheckOverdue then reports that and abandons it. A late result
  // is reported when it comes.
  [[nodiscard]] std::optional<SteadyTime> overdue_at() const;
  void CheckOverdue();

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace gantry::gpu
