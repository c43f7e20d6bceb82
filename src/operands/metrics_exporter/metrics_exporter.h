// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry::metrics_exporter {

// Serves the metrics of this node's GPUs until it is told to stop. Exit codes: 0 stopped, 1 it
// can't serve or the counters can't be read at the start, 2 a mistake in the command line.
int RunMetricsExporter(int argc, char** argv);

}  // namespace gantry::metrics_exporter
