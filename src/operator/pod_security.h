// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "operator/node_facts.h"

namespace gantry::gpu_operator {

// The merge patch that lets privileged pods into a namespace with these labels (psa.enabled); null
// if they are let in.
// `privileged`: pods of that kind are to be let in; `monitored`: OpenShift's own Prometheus is to
// look into it, unless a label says whether it should.
Json SpacePatch(const Labels& labels, bool privileged, bool monitored);

}  // namespace gantry::gpu_operator
