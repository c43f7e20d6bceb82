// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gantry::driver {

// What the kubelet shows as the reason of a container that ended. The kubelet made the file and
// holds it by a mount, so it is written in place; where there is none, nothing is.
void WriteTerminationLog(const std::string& path, const std::string& text);

}  // namespace gantry::driver
