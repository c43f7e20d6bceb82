// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gantry::nvml {

// Mounts `root`/dev over /dev for this process and its children, and `root`/proc/driver, if it
// exists, over /proc/driver: a container's /dev is a copy from its start, without later device
// nodes. Needs CAP_SYS_ADMIN; without it, or with root empty or "/", nothing changes. Call it in a
// process that ends soon, before the library is opened.
void EnterDevRoot(const std::string& root);

}  // namespace gantry::nvml
