// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "doctor/facts.h"

namespace gantry::doctor {

// Whether the scheduler, or a DaemonSet, may use the node, by its labels.
bool Takes(const NodeChoice& choice, const NodeFacts& node);

}  // namespace gantry::doctor
