// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"

namespace gantry::policy {

// The nvidia.com/v1 ClusterPolicy that a nvidia.com/v1alpha1 GPUCluster amounts to: its sections,
// with NVIDIA's defaults for a GPUCluster, and no device plugin. `drivers`: NVIDIADrivers exist,
// from which nodes get their drivers; otherwise the nodes bring them. Types are not checked: Parse
// of the result names mistakes.
Json PolicyOf(const Json& gpu_cluster, bool drivers);

}  // namespace gantry::policy
