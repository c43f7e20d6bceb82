// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry {

// The lines HELP and TYPE, written once before all values of a metric (Prometheus' text format
// 0.0.4). `type`: "counter", "gauge", "histogram".
std::string MetricHeading(std::string_view name, std::string_view type, std::string_view help);

}  // namespace gantry
