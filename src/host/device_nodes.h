// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"

namespace gantry::host {

// Makes the device nodes that are missing (nvidiactl, nvidia-modeset, nvidia-uvm, nvidia-uvm-tools,
// and one for each GPU that the driver drives) in the /dev of `dev_root`: with nvidia-modprobe if
// it exists (it loads kernel modules too), and by the numbers in /proc/devices of the host mounted
// at `root`. `dev_root` is `root`, or the root of a driver's container. Needs the rights to make
// device nodes and to change the root directory. Blocks while a module is loaded.
Status MakeDeviceNodes(const std::string& root, const std::string& dev_root);

// For every NVIDIA device node below `dev_root`/dev a link in `dev_char` (the host's /dev/char,
// mounted here) to it at `host_dev_root`/dev. systemd reads these links when it reapplies a
// container's device rules: without the link, a container loses its GPUs at the next `systemctl
// daemon-reload`. Writes only what differs; nothing if `dev_char` is not mounted.
Status LinkDeviceNodes(const std::string& dev_root, const std::string& host_dev_root,
                       const std::string& dev_char);

}  // namespace gantry::host
