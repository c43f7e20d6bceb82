// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "operator/desired/context.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {

// Adds what OpenShift asks for before an operand's pods may do what they do: nothing where the
// cluster has no SecurityContextConstraints, and where `asked` names none.
// `account`: of the pods, if it is not the usual one.
void AddConstraints(Objects& objects, const Context& context, const policy::Constraints& asked,
                    std::string_view account = {});

}  // namespace gantry::gpu_operator
