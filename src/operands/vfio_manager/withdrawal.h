// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace gantry::vfio_manager {

// Whether a node with these labels is not for passthrough any more, so that its GPUs are given back
// when the manager's pod ends: the operator has removed the label that deploys the manager.
bool IsWithdrawn(const std::map<std::string, std::string>& labels);

}  // namespace gantry::vfio_manager
