// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"

namespace gantry::device_plugin {

// Mounts on `<mps_root>/shm` the memory that MPS shares with its clients, unless it is mounted:
// running clients use the existing one. True if it was mounted now. Needs CAP_SYS_ADMIN; the host
// sees it if the MPS root is mounted with propagation to it.
Result<bool> MountMpsShm(const std::string& mps_root);

}  // namespace gantry::device_plugin
