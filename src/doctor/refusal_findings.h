// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace gantry::doctor {

// The finding for a controller's event about pods that the API server rejects; nothing if they are
// no operand's and request no GPU.
std::optional<Finding> ExamineRefusal(const RefusalFacts& refusal);

}  // namespace gantry::doctor
