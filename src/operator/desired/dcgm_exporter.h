// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "operator/desired/context.h"

namespace gantry::gpu_operator {

// Its DaemonSet, pods' label `app`, Service and account: others select by them.
inline constexpr std::string_view kExporter = "nvidia-dcgm-exporter";
inline constexpr int kExporterPort = 9400;

// The Service of the DCGM exporter, ours or NVIDIA's, and what tells Prometheus of it.
void AddExporterService(Objects& objects, const Context& context);

}  // namespace gantry::gpu_operator
