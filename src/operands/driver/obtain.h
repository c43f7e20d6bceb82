// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "operands/driver/install_plan.h"

namespace gantry::driver {

// Brings a plan's modules about and returns the folder in which they lie: precompiled ones where
// they are, others in the cache, where they stay. Blocks while they are compiled, up to half an
// hour. kUnavailable: `stop_fd` became readable first, or a download or an installer failed.
// kInvalid: they don't compile; the message names driver, kernel and the compiler's first error,
// and the whole log lies beside the cache's entries (<key>.log).
Result<std::string> ObtainModules(const Flags& flags, const InstallPlan& plan,
                                  const KernelHeaders& headers, int stop_fd);

// Of a driver that is loaded already (Way::kLoaded): what its installer brings beside the modules.
// Blocks; fails as ObtainModules.
Status ObtainLibraries(const InstallPlan& plan, int stop_fd);

}  // namespace gantry::driver
