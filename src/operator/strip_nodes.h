// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "kube/client.h"

namespace gantry::gpu_operator {

// Takes from every Node what the operator has written there, as strip.h decides. `instance`: of
// node feature discovery, as the operator had it. Blocks for its requests.
Status StripNodes(kube::Client& client, const std::string& instance);

}  // namespace gantry::gpu_operator
