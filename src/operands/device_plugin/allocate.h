// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/device_plugin.h"
#include "operands/device_plugin/resources.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// What a container gets that was given these devices. `nodes_present` are the paths of device nodes
// that exist ("/dev/nvidiactl", ...). kInvalid: an id that the resource does not have, or more
// shares than the configuration allows to one container.
Result<kubelet::Allocation> Allocate(const Resource& resource, const Settings& settings,
                                     const std::set<std::string>& nodes_present,
                                     const std::vector<std::string>& ids);

// Device nodes that every GPU container gets.
const std::vector<std::string>& ControlNodes();

}  // namespace gantry::device_plugin
