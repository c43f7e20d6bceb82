// SPDX-License-Identifier: Apache-2.0
// How is a metric written in Prometheus' text format?
#include "base/metric_text.h"

#include "base/text.h"

namespace gantry {

std::string MetricHeading(std::string_view name, std::string_view type, std::string_view help) {
  return format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

}  // namespace gantry
