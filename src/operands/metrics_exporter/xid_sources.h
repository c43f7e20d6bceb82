// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace gantry::metrics_exporter {

struct SourcedXid {
  std::string uuid;
  uint64_t xid = 0;
  std::optional<unsigned> gpu_instance = {};
};

// Each XID once, whether NVML tells it, the kernel's log, or both. One of the log alone counts as
// soon as NVML has had time to tell it too.
class XidSources {
 public:
  static constexpr std::chrono::seconds kWait{2};
  // How much later the other source may name the same XID.
  static constexpr std::chrono::seconds kTwin{5};

  // `at_once`: those of the log that count without waiting.
  explicit XidSources(std::set<uint64_t> at_once) : at_once_(std::move(at_once)) {}

  // Whether it counts now.
  bool FromDriver(const SourcedXid& xid, SteadyTime now);
  bool FromLog(const SourcedXid& xid, SteadyTime now);
  // Those of the log that count by now.
  std::vector<SourcedXid> Due(SteadyTime now);
  [[nodiscard]] std::optional<SteadyTime> due_at() const;

 private:
  struct Entry {
    SourcedXid xid;
    SteadyTime at;
  };
  using Entries = std::deque<Entry>;
  static bool TakeTwin(Entries& entries, const SourcedXid& xid);
  void Forget(SteadyTime now);

  const std::set<uint64_t> at_once_;
  Entries of_driver_;  // counted; the log may name them
  Entries of_log_;     // counted; NVML may tell them
  Entries waiting_;    // of the log
};

}  // namespace gantry::metrics_exporter
