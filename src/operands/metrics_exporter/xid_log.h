// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/paths.h"

namespace gantry::metrics_exporter {

// An XID as the driver writes it into the kernel's log.
struct LoggedXid {
  std::string pci_bus_id;  // "0000:3b:00.0", as sysfs spells it
  uint64_t xid = 0;
  std::optional<unsigned> gpu_instance = {};
  bool operator==(const LoggedXid&) const = default;
};

// Of a line such as "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.";
// nullopt for any other.
std::optional<LoggedXid> ParseXidLine(std::string_view line);

// The kernel's log, /dev/kmsg, or a file in its place: what is written from now on.
class XidLog {
 public:
  static Result<XidLog> Open(const std::string& path);

  // For poll(2); below 0 for a file, which is watched.
  [[nodiscard]] int fd() const { return is_file_ ? -1 : fd_.get(); }
  // The XIDs since the last call. Does not block.
  std::vector<LoggedXid> Read();

 private:
  XidLog(Fd fd, bool is_file) : fd_(std::move(fd)), is_file_(is_file) {}

  Fd fd_;
  bool is_file_;
  std::string rest_;  // of a line without an end
};

}  // namespace gantry::metrics_exporter
