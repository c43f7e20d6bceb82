// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace gantry::doctor {

// What a controller's event says of pods that the API server refuses; nothing if that has no
// finding: they are of no operand and ask for no GPU.
std::optional<Finding> ExamineRefusal(const RefusalFacts& refusal);

}  // namespace gantry::doctor
