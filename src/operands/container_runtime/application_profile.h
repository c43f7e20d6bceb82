// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gantry::container_runtime {

// The driver's application profile that hides GPUs without a device node in the container from EGL,
// by the names in its /dev: "nvidia0", "nvidia3", ... Empty if there is no GPU among them.
std::string ApplicationProfile(const std::vector<std::string>& device_names);

}  // namespace gantry::container_runtime
