// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gantry::metrics_exporter {

// How numbers are written. dcgm-exporter prints them as Go's Prometheus library does since 4.8.3
// ("40.979", "1.5151e+10"), and as C's %f or %d before.
enum class NumberForm { kShortest, kFixed };

// `whole`: the fixed form has no decimals. The number is finite.
std::string NumberText(double number, NumberForm form, bool whole);

}  // namespace gantry::metrics_exporter
