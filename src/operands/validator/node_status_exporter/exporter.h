// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/signals.h"
#include "operands/validator/flags.h"

namespace gantry::validator {

// Component "metrics": serves http://:<metrics-port>/metrics until SIGTERM; every scrape reads the
// status files again. Blocks; 0, or 1 if the port is not available.
int RunExporter(const Flags& flags, const host::Signals& signals);

}  // namespace gantry::validator
