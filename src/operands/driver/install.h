// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/device_holders.h"
#include "operands/driver/flags.h"
#include "operands/driver/kernel.h"

// Installs a driver on this node, and removes it.
namespace gantry::driver {

// DRIVER_CONFIG_DIGEST, and the features that .driver-ctr-ready lists for the validator.
struct Settings {
  std::string digest;  // empty: none is known
  bool gdrcopy = false;
  bool gds = false;
  bool rdma = false;
};

// Modules, device nodes, the driver's root and the status file .driver-ctr-ready. An earlier driver
// is unloaded only when the modules of this one are ready to load. A failed installation leaves
// none of its modules loaded. kUnavailable: `stop_fd` became readable first; kConflict: an earlier
// driver is in use, and the message names the processes; other errors as in install_plan.h,
// obtain.h and kernel.h.
Status Install(const Flags& flags, const Settings& settings, Kernel& kernel, int stop_fd);

// Unloads the driver with all modules on top of it, and removes its root and its status files.
// kConflict: it is in use; the message names the processes, and the modules stay.
Status Uninstall(const Flags& flags, Kernel& kernel);

// Unloads only the modules, in order. kConflict as above, with pods named by `pods`; if a process
// holds the driver, nothing was unloaded.
Status UnloadModules(const Flags& flags, Kernel& kernel,
                     const std::vector<host::PodName>& pods = {});

// Loads nvidia-peermem beside the driver. Errors as Install.
Status LoadPeermem(const Flags& flags, Kernel& kernel, int stop_fd);

// Whether a module is loaded now.
bool IsLoaded(const Flags& flags, std::string_view module);

}  // namespace gantry::driver
