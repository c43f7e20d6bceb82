// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "operator/desired/context.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {

// Adds the SecurityContextConstraints that OpenShift requires for an operand's pods: nothing if the
// cluster has no such kind, or `asked` names none. `account`: of the pods, if not the default one.
void AddConstraints(Objects& objects, const Context& context, const policy::Constraints& asked,
                    std::string_view account = {});

}  // namespace gantry::gpu_operator
