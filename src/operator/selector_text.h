// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "base/json.h"

namespace gantry::gpu_operator {

// A metav1 LabelSelector as a query parameter ("a=b,c in (d,e),!f"). An empty selector is empty:
// everything. kInvalid names the field.
Result<std::string> SelectorText(const Json& selector);

}  // namespace gantry::gpu_operator
