// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "base/error.h"

namespace gantry::device_plugin {

// Makes in `to` (this container's /dev) the NVIDIA device nodes that are in `from` (the host's /dev
// as mounted here) and missing there. The names of those made.
Result<std::set<std::string>> MirrorDeviceNodes(const std::string& from, const std::string& to);

}  // namespace gantry::device_plugin
