// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::driver {

// `nvidia-driver`: installs this node's driver. Returns the exit code.
int RunDriver(int argc, char** argv);

}  // namespace gantry::driver
