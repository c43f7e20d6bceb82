// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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

// What the monitor saw.
struct GpusFound {
  GpuSet set;
};
struct GpusMissing {
  Error error;  // NVML can't be opened, or does not answer
};
struct GpusChanged {};  // MIG devices came or went: look again
struct WaitFailed {
  Error error;  // the wait for events ended with it: some GPU may be lost
};
struct Probed {
  struct Answer {
    std::string uuid;
    Status status;  // kTimeout: the call has not come back in time
  };
  std::vector<Answer> answers;
};
using Observation = std::variant<GpusFound, GpusMissing, GpusChanged, WaitFailed, XidEvent, Probed>;

// The only part that calls NVML, on threads of its own, because a call into a driver can hang for
// ever. What it sees goes to `tell`, from those threads. A thread that hangs is left behind, and
// another one goes on with the other GPUs.
class Monitor {
 public:
  struct Options {
    std::filesystem::path driver_root;      // as seen here
    std::string host_root = "/";            // the folder that holds the node's sys/ and proc/
    std::function<void(Observation)> tell;  // must not call back
    // What a probe asks a GPU; empty: whether it is alive. From those threads, for one GPU at a
    // time but for one that hung before, whose answer may come late.
    std::function<Status(const std::shared_ptr<nvml::Library>& library, const std::string& uuid)>
        ask = {};
  };
  // How long one GPU may take to answer a probe, and opening NVML and looking at all GPUs.
  static constexpr std::chrono::seconds kProbeLimit{5};
  static constexpr std::chrono::seconds kLookLimit{30};

  explicit Monitor(Options options);
  // Does not wait for a call that is under way; nothing is told after it returns.
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Opens NVML if need be, looks at all GPUs, and listens for events of those found. While a look
  // is under way: once more after it.
  void Look();
  // Asks each GPU; one that still owes an answer is left out.
  void Probe(std::vector<std::string> uuids);
  // When a call that is under way is overdue; CheckOverdue then tells so and leaves it behind. The
  // late answer is told when it comes.
  [[nodiscard]] std::optional<SteadyTime> overdue_at() const;
  void CheckOverdue();

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace gantry::gpu
