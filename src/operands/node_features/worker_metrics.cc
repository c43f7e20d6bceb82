// SPDX-License-Identifier: Apache-2.0
// Which metrics does the worker export? With NFD's names, labels and bounds.
#include "operands/node_features/worker_metrics.h"

#include "base/metric_text.h"
#include "base/text.h"

namespace gantry::node_features {

std::string FormatMetrics(const WorkerMetrics& metrics) {
  constexpr std::string_view kBuild = "nfd_worker_build_info";
  return MetricHeading(kBuild, "gauge", "Unix time of the worker's start, and its version.") +
         format("{}{{version=\"{}\"}} {}\n", kBuild, GANTRY_VERSION, metrics.started) +
         metrics.discovery_seconds.Text("nfd_worker_feature_discovery_duration_seconds",
                                        "Time that a look at the node took.",
                                        format("node=\"{}\"", metrics.node));
}

}  // namespace gantry::node_features
