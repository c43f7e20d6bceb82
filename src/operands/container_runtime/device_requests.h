// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "container/capabilities.h"
#include "container/oci.h"
#include "operands/container_runtime/runtime_config.h"

namespace gantry::container_runtime {

struct DeviceRequest {
  std::string kind;    // empty: the default kind, or whichever has it
  std::string device;  // "all", "none", "0", "0:1", "GPU-..."
  auto operator<=>(const DeviceRequest&) const = default;
};

struct DeviceRequests {
  std::vector<DeviceRequest> devices;
  std::vector<std::string> features;       // "gds", "mofed", "gdrcopy", "nvswitch"
  std::vector<std::string> imex_channels;  // numbers
  std::vector<std::string> mig_nodes;      // "config", "monitor": the right to change, to watch MIG
  // Why the environment variable of the container was not followed; empty if it was, or not set.
  std::string refused;
};

// How a container comes by its devices.
enum class Mode { kCdi, kJitCdi, kCsv, kLegacy };

// Which devices a container's configuration asks this runtime for, in NVIDIA's order: CDI
// annotations (in mode cdi, and in mode auto if they are all CDI names), then (where allowed)
// volume mounts below /var/run/nvidia-container-devices, then NVIDIA_VISIBLE_DEVICES or what
// replaces it. What comes with GPUs (features, IMEX channels, MIG rights) is asked for by
// containers with GPUs only. kDenied: MIG rights without being privileged.
Result<DeviceRequests> RequestedDevices(const Json& config, const RuntimeConfig& settings);

// Whether a request is for a device of NVIDIA's: by no kind, by the default one, or by one whose
// vendor is nvidia.com or ends so.
bool IsOfNvidia(const DeviceRequest& request, std::string_view default_kind);

// The mode in which they are given. `tegra`: the node is a Tegra board. kInvalid: no such mode.
Result<Mode> ResolveMode(const RuntimeConfig& settings, const DeviceRequests& requests, bool tegra);

// Which parts of the driver: NVIDIA_DRIVER_CAPABILITIES. Unset or empty it is "utility,compute" in
// mode legacy, and all in the others, where NVIDIA's runtime always gives all; images of the time
// before the variable get all everywhere.
Result<container::Capabilities> RequestedCapabilities(const container::OciRequest& request,
                                                      const RuntimeConfig& settings, Mode mode);

}  // namespace gantry::container_runtime
