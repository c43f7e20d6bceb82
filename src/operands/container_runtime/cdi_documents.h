// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "container/cdi.h"
#include "container/cdi_hooks.h"
#include "container/inventory.h"

// The documents that `nvidia-ctk cdi` makes, as values.
namespace gantry::container_runtime {

struct GenerateRequest {
  std::string kind = "nvidia.com/gpu";
  container::HookProgram hook;
  std::vector<std::string> names;              // "index", "type-index", "uuid"
  std::vector<std::string> devices = {"all"};  // or "none", indices, UUIDs
  container::HookSwitches hook_switches;
  std::vector<std::string> features;
  bool all_device = true;
};

// kInvalid: an unknown naming; kNotFound: a device that the node does not have.
Result<container::CdiSpec> WorkloadDocument(const GenerateRequest& request,
                                            container::NodeInventory inventory);
Result<container::CdiSpec> ManagementDocument(const GenerateRequest& request,
                                              container::NodeInventory inventory);

// The device names of a board described by mount lists: it has one GPU, without a UUID. kInvalid:
// an unknown naming, or no name is left.
Result<std::vector<std::string>> BoardNames(const GenerateRequest& request);

// Replaces the prefix `from` by `to` in every host path, or in every container path; the hook's
// name decides which its program and arguments are.
void TransformRoot(std::string_view from, std::string_view to, bool in_container,
                   container::CdiSpec& spec);

}  // namespace gantry::container_runtime
