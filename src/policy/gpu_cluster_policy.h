// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

// gpu.nvidia.com/v1 GPUClusterPolicy: a short form of ClusterPolicy, with sections of `enabled` and
// `version` (driver, devicePlugin, migManager), and with `cuda`, which a ClusterPolicy has not.
namespace gantry::policy {

struct LaidOver {
  Json policy;  // an object of nvidia.com/v1 ClusterPolicy
  // Paths below spec at which the ClusterPolicy says something else ("driver.version"), in order.
  std::vector<std::string> overridden;
  // Paths that the short form says in vain, because drivers come from NVIDIADrivers.
  std::vector<std::string> in_vain = {};
};

// Lays what the short form says over a ClusterPolicy, or over NVIDIA's defaults if that is null.
// Types are not looked at: Parse of the outcome names what is wrong.
LaidOver LayOver(const Json& short_form, const Json& policy);

}  // namespace gantry::policy
