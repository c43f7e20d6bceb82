// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "host/child_call.h"
#include "operands/device_plugin/mps_control_daemon/mps_plan.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// The driver, called in child processes: a call into it can hang, and its library takes memory.
class MpsGpus {
 public:
  // `host_root` holds the node's sys/ and proc/; `record` is the file with the GPUs' earlier
  // compute modes; `stop_fd` ends a wait for the driver.
  MpsGpus(std::string host_root, std::string record, int stop_fd);

  // The plan for the settings.
  Result<MpsPlanRead> Look(const Settings& settings);
  // Reserves the shared GPUs for the control daemon, and records their earlier modes. Returns a
  // sentence for each GPU without such a mode.
  Result<std::vector<std::string>> MakeExclusive(const Settings& settings, const MpsPlan& plan);
  // Restores the recorded modes of all GPUs, and removes the record.
  Status Restore(const DriverRoots& driver);

 private:
  const std::string host_root_;
  const std::string record_;
  const int stop_fd_;
  host::ChildCall call_;
};

}  // namespace gantry::device_plugin
