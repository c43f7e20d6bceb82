// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "gpu/gpu_set.h"
#include "gpu/owners.h"
#include "gpu/pod_gpus.h"
#include "kubelet/dra/dra.h"
#include "operands/dra_driver/checkpoint.h"
#include "operands/dra_driver/devices.h"

namespace gantry::dra_driver {

// The name of a claim's device in its CDI document, and the kind of all these documents.
inline constexpr char kClaimCdiKind[] = "k8s.gpu.nvidia.com/claim";
std::string ClaimCdiName(const std::string& uid, const std::string& device);

// The entry that a claim gets when it is prepared: what the API server says of it, on this node's
// devices. `claim` is a ResourceClaim (resource.k8s.io/v1), `pool` this node's. kConflict: it is
// another claim by now, or another claim has the device; kInvalid: its parameters are wrong;
// kUnsupported: they ask for what is not served; kNotFound: it is not allocated, or its device is
// not on this node.
Result<ClaimEntry> PlanClaim(const Json& claim, const kubelet::dra::Claim& asked,
                             const std::string& pool, const gpu::GpuSet& set,
                             const Devices& devices, const Checkpoint& checkpoint);

// kConflict: a container has a reserved device from a device plugin. The message names its pod.
Status CheckHolders(const ClaimEntry& entry, const gpu::GpuSet& set, const Devices& devices,
                    const gpu::Holders& holders);

// kUnavailable: another program of the node has the GPU of a device for now. The message names it.
Status CheckOwners(const ClaimEntry& entry, const gpu::GpuSet& set, const Devices& devices,
                   const gpu::Owners& owners);

}  // namespace gantry::dra_driver
