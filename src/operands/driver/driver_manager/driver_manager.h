// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::driver {

// `driver-manager`: removes an older driver from this node. Returns the exit code.
int RunDriverManager(int argc, char** argv);

}  // namespace gantry::driver
