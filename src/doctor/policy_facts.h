// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/json.h"
#include "doctor/facts.h"

namespace gantry::doctor {

// From a ClusterPolicy (nvidia.com/v1), a GPUClusterPolicy (gpu.nvidia.com/v1), a GPUCluster
// (nvidia.com/v1alpha1) or an NVIDIADriver.
PolicyFacts PolicyFrom(const Json& object);
// One configuration for each key of a ConfigMap.
std::vector<ConfigFacts> ConfigsFrom(const Json& config_map);

}  // namespace gantry::doctor
