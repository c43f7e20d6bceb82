// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

// gpu.nvidia.com/v1 GPUClusterPolicy: a short form of ClusterPolicy, with sections of `enabled` and
// `version` (driver, devicePlugin, migManager), and with `cuda`, which a ClusterPolicy lacks.
namespace gantry::policy {

struct LaidOver {
  Json policy;  // an object of nvidia.com/v1 ClusterPolicy
  // Paths below spec whose ClusterPolicy values are overridden ("driver.version"), in order.
  std::vector<std::string> overridden;
  // Paths of the GPUClusterPolicy without effect, because drivers come from NVIDIADrivers.
  std::vector<std::string> in_vain = {};
};

// Overrides a ClusterPolicy, or NVIDIA's defaults if that is null, with the GPUClusterPolicy's
// fields. Types are not checked: Parse of the result names mistakes.
LaidOver LayOver(const Json& short_form, const Json& policy);

}  // namespace gantry::policy
