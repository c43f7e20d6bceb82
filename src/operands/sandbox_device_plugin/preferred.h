// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/device_plugin/device_plugin.h"
#include "operands/sandbox_device_plugin/resources.h"

namespace gantry::sandbox_device_plugin {

// The required devices, then those of one NUMA node that has enough (of the required ones', if it
// has), else in the kubelet's order. kInvalid: more are required than asked for.
Result<std::vector<std::string>> Prefer(const Resource& resource,
                                        const kubelet::PreferredRequest& request);

}  // namespace gantry::sandbox_device_plugin
