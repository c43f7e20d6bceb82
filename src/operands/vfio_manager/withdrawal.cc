// SPDX-License-Identifier: Apache-2.0
// Does a VFIO manager that is to end give the GPUs back? Only if its node is not for passthrough
// any more: an upgrade of the pod must not take a GPU from a virtual machine.
#include "operands/vfio_manager/withdrawal.h"

#include "base/text.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::vfio_manager {

bool IsWithdrawn(const std::map<std::string, std::string>& labels) {
  const auto& manager = policy::OperandOf(policy::OperandId::kVfioManager);
  // "false" is a switch for the pod only, and the paused values are for a while.
  return !labels.contains(format("{}{}", names::kDeployPrefix, manager.deploy));
}

}  // namespace gantry::vfio_manager
