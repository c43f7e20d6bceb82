// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "gpu/gpu.h"
#include "gpu/health.h"
#include "operands/metrics_exporter/xid_log.h"
#include "operands/metrics_exporter/xid_sources.h"

namespace gantry::metrics_exporter {

// The XIDs of NVML's events and of the kernel's log. Variables as DCGM's engine has them name
// another log (__DCGM_TEST_KMSG_FILENAME__) and the XIDs of the log that count at once
// (__DCGM_XID_KMSG__; default 79,119,120).
class XidWatch {
 public:
  // Without a log that can be read there are NVML's alone; a line of our log says why.
  XidWatch();

  [[nodiscard]] int fd() const { return log_ ? log_->fd() : -1; }
  // A file in the place of the kernel's log, to be watched; empty: none.
  [[nodiscard]] const std::string& file() const { return file_; }

  // Those that the log may name by their addresses; earlier ones are remembered.
  void Know(const std::vector<gpu::Gpu>& gpus);
  // The XIDs to count now.
  std::vector<SourcedXid> FromDriver(const gpu::XidEvent& event, SteadyTime now);
  std::vector<SourcedXid> FromLog(SteadyTime now);
  [[nodiscard]] std::optional<SteadyTime> due_at() const { return sources_.due_at(); }

 private:
  XidSources sources_;
  std::optional<XidLog> log_;
  std::string file_;
  std::map<std::string, std::string> uuids_;  // by NVML's address
};

}  // namespace gantry::metrics_exporter
