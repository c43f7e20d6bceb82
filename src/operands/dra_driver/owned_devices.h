// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "base/json.h"
#include "gpu/gpu_set.h"
#include "gpu/owners.h"
#include "operands/dra_driver/devices.h"

namespace gantry::dra_driver {

// The names of the devices of GPUs that other programs have: a GPU, or its MIG devices.
std::set<std::string> DevicesOn(const gpu::Owners& owners, const gpu::GpuSet& set,
                                const Devices& devices);

// Whether a claim (resource.k8s.io/v1 ResourceClaim) is allocated one of these devices of a node,
// whose pool has its name.
bool HasDevice(const Json& claim, const std::string& pool, const std::set<std::string>& names);

}  // namespace gantry::dra_driver
