// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "operands/driver/install_plan.h"

namespace gantry::driver {

// Provides a plan's modules and returns their folder: precompiled ones in place, others in the
// cache, where they stay. Blocks during a compile, up to half an hour. kUnavailable: `stop_fd`
// became readable first, or a download or an installer failed. kInvalid: they don't compile; the
// message names driver, kernel and the compiler's first error, and the complete log is beside the
// cache's entries (<key>.log).
Result<std::string> ObtainModules(const Flags& flags, const InstallPlan& plan,
                                  const KernelHeaders& headers, int stop_fd);

// For a driver that is already loaded (Way::kLoaded): provides the installer's files besides the
// modules. Blocks; fails as ObtainModules.
Status ObtainLibraries(const InstallPlan& plan, int stop_fd);

}  // namespace gantry::driver
