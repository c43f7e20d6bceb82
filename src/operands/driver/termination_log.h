// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gantry::driver {

// Writes the message that the kubelet shows for an ended container. The kubelet made the file and
// mounts it, so it is written in place; does nothing if there is none.
void WriteTerminationLog(const std::string& path, const std::string& text);

}  // namespace gantry::driver
