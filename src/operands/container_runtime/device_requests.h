// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "operands/container_runtime/runtime_config.h"

namespace gantry::container_runtime {

struct DeviceRequest {
  std::string kind;    // empty: the default kind, or whichever has it
  std::string device;  // "all", "none", "0", "GPU-..."
  auto operator<=>(const DeviceRequest&) const = default;
};

struct DeviceRequests {
  std::vector<DeviceRequest> devices;
  // Why the environment variable of the container was not followed; empty if it was, or not set.
  std::string refused;
};

// Which devices a container's configuration asks this runtime for, in NVIDIA's order: CDI
// annotations, then (where allowed) volume mounts below /var/run/nvidia-container-devices, then
// NVIDIA_VISIBLE_DEVICES.
DeviceRequests RequestedDevices(const Json& config, const RuntimeConfig& settings);

}  // namespace gantry::container_runtime
