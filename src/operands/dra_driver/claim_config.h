// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/json.h"
#include "operands/dra_driver/devices.h"

namespace gantry::dra_driver {

enum class Sharing { kNone, kTimeSlicing, kMps };

// The parameters of a claim or class for this driver (resource.nvidia.com/v1beta1).
struct ClaimConfig {
  DeviceType type = DeviceType::kGpu;  // GpuConfig, MigDeviceConfig
  Sharing sharing = Sharing::kNone;
  bool operator==(const ClaimConfig&) const = default;
};

// Reads them strictly: kInvalid names an unknown field or a wrong value, kUnsupported a kind that
// is not served. Users write these values; none of them ends the process.
Result<ClaimConfig> DecodeConfig(const Json& parameters);

// kUnsupported: the config asks for what its feature gate would enable.
Status CheckGates(const ClaimConfig& config);

}  // namespace gantry::dra_driver
