// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/paths.h"
#include "policy/names.h"

namespace gantry::vfio_manager {

// Where a node's files are. Tests use folders.
struct Places {
  std::string sys = "/sys";
  std::string host_root = "/";  // the host's root as mounted here, with its mounts
  std::string journal = JoinPath(names::kValidationsDir, names::kVfioBinding);
};

}  // namespace gantry::vfio_manager
