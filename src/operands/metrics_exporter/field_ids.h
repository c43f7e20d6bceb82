// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "operands/metrics_exporter/fields.h"

namespace gantry::metrics_exporter {

// The field of one of DCGM 4.6's numbers (dcgm_fields.h): 150 is the GPU's temperature. nullopt:
// there is none, or it can't be had from NVML.
std::optional<Field> FieldOfId(unsigned id);

}  // namespace gantry::metrics_exporter
