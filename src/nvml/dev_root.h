// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gantry::nvml {

// Puts `root`/dev in the place of /dev for this process (from here on, and for its children), and
// `root`/proc/driver, where there is one, in that of /proc/driver: a container's /dev is a copy
// from its start, and device nodes that appeared since are not in it. Needs CAP_SYS_ADMIN; without
// it, or with root empty or "/", nothing changes. Call it in a process that ends soon, before the
// library is opened.
void EnterDevRoot(const std::string& root);

}  // namespace gantry::nvml
