// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "container/cdi.h"
#include "container/inventory.h"
#include "operands/container_runtime/device_requests.h"
#include "operands/container_runtime/requirements.h"

// From what a container asks for to what is done to it, in the modes that need no documents on
// disk.
namespace gantry::container_runtime {

// The kind of the document that is made at a container's start.
inline constexpr char kRuntimeKind[] = "runtime.nvidia.com/gpu";

// A GPU as one device, also in MIG mode: what its own index or UUID stands for.
container::CdiGpu WholeGpu(container::CdiGpu gpu);

// The document of the node's GPUs by UUID and index, of kind runtime.nvidia.com/gpu. A GPU in MIG
// mode is in it if a request names it.
container::CdiSpec RuntimeSpec(const container::NodeInventory& inventory,
                               const std::vector<DeviceRequest>& requests,
                               const RuntimeConfig& settings, const container::HookProgram& hook);

// The edits for the devices, each looked up in the spec; kNotFound names the first that is not
// there, kInvalid one of another kind: documents of others are not mixed with it.
Result<container::CdiEdits> EditsFrom(const container::CdiSpec& spec,
                                      const std::vector<DeviceRequest>& requests);

// What the requirements of an image are compared with. The properties of a GPU are those of the
// GPUs asked for, and not known if they differ.
RequirementFacts FactsOf(const container::NodeInventory& inventory,
                         const std::vector<DeviceRequest>& requests);

}  // namespace gantry::container_runtime
