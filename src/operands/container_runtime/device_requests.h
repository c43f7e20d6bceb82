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
  std::string kind;    // empty: the default kind, or any that has it
  std::string device;  // "all", "none", "0", "0:1", "GPU-..."
  auto operator<=>(const DeviceRequest&) const = default;
};

struct DeviceRequests {
  std::vector<DeviceRequest> devices;
  std::vector<std::string> features;       // "gds", "mofed", "gdrcopy", "nvswitch"
  std::vector<std::string> imex_channels;  // numbers
  std::vector<std::string> mig_nodes;  // "config", "monitor": the right to change or monitor MIG
  // Why the container's environment variable was ignored; empty if it was not, or is not set.
  std::string refused;
};

// How a container gets its devices.
enum class Mode { kCdi, kJitCdi, kCsv, kLegacy };

// The devices that a container's configuration requests, in NVIDIA's order: CDI annotations (in
// mode cdi, and in mode auto if they are all CDI names), then (if allowed) volume mounts below
// /var/run/nvidia-container-devices, then NVIDIA_VISIBLE_DEVICES or its replacement. Only
// containers with GPUs can request additions to GPUs (features, IMEX channels, MIG rights).
// kDenied: MIG rights without being privileged.
Result<DeviceRequests> RequestedDevices(const Json& config, const RuntimeConfig& settings);

// Whether a request is for an NVIDIA device: without a kind, with the default one, or with one
// whose vendor is nvidia.com or ends with it.
bool IsOfNvidia(const DeviceRequest& request, std::string_view default_kind);

// The mode for the devices. `tegra`: the node is a Tegra board. kInvalid: no such mode.
Result<Mode> ResolveMode(const RuntimeConfig& settings, const DeviceRequests& requests, bool tegra);

// The requested parts of the driver: NVIDIA_DRIVER_CAPABILITIES. If unset or empty it is
// "utility,compute" in mode legacy, and all in the other modes, where NVIDIA's runtime always gives
// all; images older than the variable get all in every mode.
Result<container::Capabilities> RequestedCapabilities(const container::OciRequest& request,
                                                      const RuntimeConfig& settings, Mode mode);

}  // namespace gantry::container_runtime
