// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "kube/client.h"

namespace gantry::gpu_operator {

// Removes from every Node what the operator wrote there, as strip.h decides. `instance`: the
// operator's instance of node feature discovery. Blocks for its requests.
Status StripNodes(kube::Client& client, const std::string& instance);

}  // namespace gantry::gpu_operator
