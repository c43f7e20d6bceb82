// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "operator/node_facts.h"

namespace gantry::gpu_operator {

// The merge patch that lets privileged pods into a namespace with these labels (psa.enabled); null
// if they are let in.
Json PodSecurityPatch(const Labels& labels);

}  // namespace gantry::gpu_operator
