// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"

namespace gantry::gpu_operator {

// Annotation, in JSON: another owner's object as it was before it was taken over, or the earlier
// labels of the operator's namespace.
inline constexpr char kEarlier[] = "nvidia.com/gpu-operator.earlier";

// The desired object to replace the observed one. Another owner's object is recorded in an
// annotation (kEarlier), and gets no owner reference: it is not deleted with the policy.
Json WithEarlier(const Json& desired, const Json& observed);

// The object before it was taken over; null if the operator created it.
Json EarlierOf(const Json& object);

}  // namespace gantry::gpu_operator
