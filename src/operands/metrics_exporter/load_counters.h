// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/error.h"
#include "operands/metrics_exporter/counters.h"
#include "operands/metrics_exporter/flags.h"

namespace gantry::metrics_exporter {

// The counters that the flags name: of a ConfigMap, for which the API server is asked, else of
// a file, else the built-in ones where the file is one that dcgm-exporter's image has. Errors name
// file or ConfigMap, line and value. Warnings are logged.
Result<std::shared_ptr<const Counters>> LoadCounters(const Flags& flags);

}  // namespace gantry::metrics_exporter
