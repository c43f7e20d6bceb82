// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/signals.h"
#include "operands/validator/flags.h"

namespace gantry::validator {

// Component "metrics": serves http://:<metrics-port>/metrics until SIGTERM; every scrape reads the
// status files anew. Blocks; 0, or 1 when the port can't be had.
int RunExporter(const Flags& flags, const host::Signals& signals);

}  // namespace gantry::validator
