// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

// gpu.nvidia.com/v1 GPUClusterPolicy: a short form of ClusterPolicy, with four sections (driver,
// cuda, devicePlugin, migManager) of `enabled` and `version`.
namespace gantry::policy {

struct LaidOver {
  Json policy;  // an object of nvidia.com/v1 ClusterPolicy
  // Paths below spec at which the ClusterPolicy says something else ("driver.version"), in order.
  std::vector<std::string> overridden;
};

// Lays what the short form says over a ClusterPolicy, or over NVIDIA's defaults if that is null.
// Types are not looked at: Parse of the outcome names what is wrong.
LaidOver LayOver(const Json& short_form, const Json& policy);

// Paths below the short form's spec that ask for something that is not there, in order ("cuda").
std::vector<std::string> UnsupportedShortFields(const Json& short_form);

}  // namespace gantry::policy
