// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operands/driver/flags.h"
#include "operands/driver/holders.h"
#include "operands/driver/kernel.h"

// A driver comes to this node, and goes from it.
namespace gantry::driver {

// DRIVER_CONFIG_DIGEST and the features that .driver-ctr-ready tells the validator of.
struct Settings {
  std::string digest;  // empty: none is known
  bool gdrcopy = false;
  bool gds = false;
  bool rdma = false;
};

// Modules, device nodes, the driver's root and the status file .driver-ctr-ready. An earlier driver
// is unloaded only when the modules of this one are at hand. What failed leaves no module of its
// own loaded. kUnavailable: `stop_fd` became readable first; kConflict: an earlier driver is in
// use, and the message names by whom; other errors as install_plan.h, obtain.h and kernel.h have
// them.
Status Install(const Flags& flags, const Settings& settings, Kernel& kernel, int stop_fd);

// Unloads the driver with all that was loaded on top of it, takes its root and its status files
// away. kConflict: it is in use; the message names by whom, and the modules stay.
Status Uninstall(const Flags& flags, Kernel& kernel);

// Only the modules, in their order. kConflict as above, pods named as `pods` has them; nothing was
// unloaded then if a process holds the driver.
Status UnloadModules(const Flags& flags, Kernel& kernel, const std::vector<PodName>& pods = {});

// Loads nvidia-peermem beside the driver. As Install.
Status LoadPeermem(const Flags& flags, Kernel& kernel, int stop_fd);

// Whether a module is loaded now.
bool IsLoaded(const Flags& flags, std::string_view module);

}  // namespace gantry::driver
