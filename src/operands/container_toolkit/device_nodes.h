// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "host/journal.h"

namespace gantry::container_toolkit {

struct ControlDevice {
  std::string name;  // below /dev
  unsigned major = 0;
  unsigned minor = 0;
};

// The driver's devices that belong to no GPU, by the majors in /proc/devices.
std::vector<ControlDevice> ControlDevices(std::string_view proc_devices);

// Makes the missing ones below the device root (a host path), with 0666 as nvidia-modprobe does.
// The journal records them.
Status MakeControlDevices(const std::string& host_root, const std::string& dev_root,
                          host::Journal& journal);

// Removes those that were made.
Status RemoveControlDevices(const std::string& host_root, const host::Journal& journal);

}  // namespace gantry::container_toolkit
