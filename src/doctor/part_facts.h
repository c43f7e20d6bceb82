// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/json.h"
#include "doctor/facts.h"

namespace gantry::doctor {

// From a DaemonSet or Deployment that is one of those parts, also this operator's.
std::optional<PartFacts> PartFrom(const Json& object);

}  // namespace gantry::doctor
