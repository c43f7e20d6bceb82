// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "operator/desired/context.h"

namespace gantry::gpu_operator {

// Adds what OpenShift asks for before the pods of that state may do what they do: nothing where the
// cluster has no SecurityContextConstraints, and for states whose pods get by with `privileged`.
// `account`: of the pods, if it is not the state's usual one.
void AddConstraints(Objects& objects, const Context& context, std::string_view state,
                    std::string_view account = {});

}  // namespace gantry::gpu_operator
