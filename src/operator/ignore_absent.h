// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

namespace gantry::gpu_operator {

// No error if there was nothing left to change.
inline Status IgnoreAbsent(Status status) {
  return !status.has_value() && status.error().kind == ErrorKind::kNotFound ? Status{} : status;
}

}  // namespace gantry::gpu_operator
