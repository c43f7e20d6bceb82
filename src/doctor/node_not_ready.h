// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace gantry::doctor {

// Why a GPU node is not ready; a note while it is being started or removed.
Finding NodeNotReady(const ClusterFacts& cluster, const NodeFacts& node);

}  // namespace gantry::doctor
