// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::driver {

// `driver-manager`: takes an older driver off this node. Returns the exit code.
int RunDriverManager(int argc, char** argv);

}  // namespace gantry::driver
