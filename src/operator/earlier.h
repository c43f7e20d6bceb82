// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"

namespace gantry::gpu_operator {

// Annotation, in JSON: an object of others as it was before it was taken over, or the labels of the
// operator's namespace as they were.
inline constexpr char kEarlier[] = "nvidia.com/gpu-operator.earlier";

// The desired object in the place of the observed one. One that others have made is remembered in
// an annotation (kEarlier), and has no owner: it does not go with the policy.
Json WithEarlier(const Json& desired, const Json& observed);

// The object as it was before it was taken over; null if it was the operator's from the beginning.
Json EarlierOf(const Json& object);

}  // namespace gantry::gpu_operator
