// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"

namespace gantry::device_plugin {

// Mounts on `<mps_root>/shm` the memory that MPS shares with its clients, if it is not mounted yet:
// clients that run hold the one that is there. True if it was mounted now. Needs CAP_SYS_ADMIN; the
// host sees it if the MPS root is mounted with propagation to it.
Result<bool> MountMpsShm(const std::string& mps_root);

}  // namespace gantry::device_plugin
