// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"

namespace gantry::gpu_operator {

// What is to be there in the place of a desired object, where `observed` is there under its name:
// the desired one (with the content that OpenShift writes into it), or, of a DaemonSet that
// NVIDIA's operator made as the policy still asks for it, that one with our marks. Its pods stay as
// they are.
Json InPlaceOf(const Json& desired, const Json& observed);

// Whether the pods of a DaemonSet are what the policy asks for, whoever wrote its template: every
// container of NVIDIA's images has the images, variables, arguments, resources and files that the
// desired one has, and the pods go to the same nodes. What else is there is not looked at.
bool MeetsPolicy(const Json& desired, const Json& observed);

}  // namespace gantry::gpu_operator
