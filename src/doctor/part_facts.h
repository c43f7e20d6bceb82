// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/json.h"
#include "doctor/facts.h"

namespace gantry::doctor {

// Of a DaemonSet or Deployment that is one of those parts, this operator's among them.
std::optional<PartFacts> PartFrom(const Json& object);

}  // namespace gantry::doctor
