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

// kInvalid: a naming that is not known; kNotFound: a device that the node has not.
Result<container::CdiSpec> WorkloadDocument(const GenerateRequest& request,
                                            container::NodeInventory inventory);
Result<container::CdiSpec> ManagementDocument(const GenerateRequest& request,
                                              container::NodeInventory inventory);

// What a board that mount lists describe is called: it has one GPU, without a UUID. kInvalid: a
// naming that is not known, or no name is left.
Result<std::vector<std::string>> BoardNames(const GenerateRequest& request);

// Puts `to` in the place of `from` at the beginning of every path on the host, or of every path in
// the container; programs and arguments of hooks are of the one or of the other by the hook's name.
void TransformRoot(std::string_view from, std::string_view to, bool in_container,
                   container::CdiSpec& spec);

}  // namespace gantry::container_runtime
