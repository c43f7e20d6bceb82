// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"

namespace gantry::gpu_operator {

// The object to store instead of `observed`: the desired one (with the content that OpenShift
// writes into it). Or the observed one with Gantry's marks, if it is a DaemonSet of NVIDIA's
// operator that still meets the policy; its pods keep running.
Json InPlaceOf(const Json& desired, const Json& observed);

// Whether the pods of a DaemonSet meet the policy, whichever operator wrote its template: every
// container of NVIDIA's images has the desired images, variables, arguments, resources and files,
// and the pods run on the same nodes. Other fields are ignored.
bool MeetsPolicy(const Json& desired, const Json& observed);

}  // namespace gantry::gpu_operator
