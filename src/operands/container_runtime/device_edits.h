// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "container/cdi.h"
#include "container/inventory.h"
#include "operands/container_runtime/device_requests.h"
#include "operands/container_runtime/requirements.h"

// Converts a container's requests to edits, in the modes without documents on disk.
namespace gantry::container_runtime {

// The kind of the document that is made at a container start.
inline constexpr char kRuntimeKind[] = "runtime.nvidia.com/gpu";

// A GPU as one device, also in MIG mode: the meaning of its own index or UUID.
container::CdiGpu WholeGpu(container::CdiGpu gpu);

// The document of the node's GPUs by UUID and index, of kind runtime.nvidia.com/gpu. A GPU in MIG
// mode is in it if a request names it.
container::CdiSpec RuntimeSpec(const container::NodeInventory& inventory,
                               const std::vector<DeviceRequest>& requests,
                               const RuntimeConfig& settings, const container::HookProgram& hook);

// The edits for the devices, each looked up in the spec; kNotFound names the first missing one,
// kInvalid one of another kind: other documents are not mixed in.
Result<container::CdiEdits> EditsFrom(const container::CdiSpec& spec,
                                      const std::vector<DeviceRequest>& requests);

// The facts for the requirements of an image. GPU properties are those of the requested GPUs, and
// unknown if these differ.
RequirementFacts FactsOf(const container::NodeInventory& inventory,
                         const std::vector<DeviceRequest>& requests);

}  // namespace gantry::container_runtime
