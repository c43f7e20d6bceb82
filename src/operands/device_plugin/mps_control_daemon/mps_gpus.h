// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "host/child_call.h"
#include "operands/device_plugin/mps_control_daemon/mps_plan.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// The driver, asked in child processes: a call into it can hang, and its library takes memory.
class MpsGpus {
 public:
  // `host_root` holds the node's sys/ and proc/; `record` is the file that says which compute modes
  // the GPUs had before; `stop_fd` ends a wait for the driver.
  MpsGpus(std::string host_root, std::string record, int stop_fd);

  // What the settings want shared.
  Result<MpsPlanRead> Look(const Settings& settings);
  // Lets nobody but the control daemon on its GPUs; the modes that they had go into the record. A
  // sentence for each GPU that has no such mode.
  Result<std::vector<std::string>> MakeExclusive(const Settings& settings, const MpsPlan& plan);
  // Gives all GPUs of the record the modes of the record, and removes it.
  Status Restore(const DriverRoots& driver);

 private:
  const std::string host_root_;
  const std::string record_;
  const int stop_fd_;
  host::ChildCall call_;
};

}  // namespace gantry::device_plugin
