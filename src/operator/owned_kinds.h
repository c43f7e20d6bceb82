// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "kube/kind.h"

namespace gantry::gpu_operator {

// The kinds of the operands' objects; not every cluster serves all of them.
const std::vector<kube::Kind>& OwnedKinds();
// Whether only a GPUCluster has objects of that kind.
bool IsOfClaims(const kube::Kind& kind);
// CHECKs that the kind is one of them.
const kube::Kind& OwnedKind(std::string_view name);

}  // namespace gantry::gpu_operator
