// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gantry {

// The metrics that every Prometheus client exports of its own process (`process_cpu_seconds_total`,
// `process_resident_memory_bytes`, `process_open_fds`, ...), in the text format 0.0.4. Empty if
// /proc cannot be read.
std::string FormatProcessMetrics();

}  // namespace gantry
