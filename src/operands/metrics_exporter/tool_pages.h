// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/json.h"
#include "gpu/gpu_set.h"
#include "operands/metrics_exporter/counters.h"
#include "operands/metrics_exporter/events.h"
#include "operands/metrics_exporter/series.h"

// The exporter's responses to `gantry dcgmi`, over its socket.
namespace gantry::metrics_exporter {

// {"gpus": [{"index", "name", "uuid", "bus_id", "instances": [{"id", "profile"}]}]}.
Json DevicesJson(const std::vector<gpu::Gpu>& gpus);
// {"fields": [{"name", "whole"}], "rows": [{"entity", "id", "gpu", "values": [null, 1.5,
// "text"]}]}: a row for each GPU ("GPU") and each of its GPU instances ("GPU-I", with DCGM's ids).
Json ValuesJson(const Counters& counters, const std::vector<MeasuredGpu>& gpus,
                const EventLog& events, SteadyTime now);
// {"gpus": [{"index", "lost", "watches": [{"watch", "verdict", "code"}]}]}, also of GPUs that can't
// be read.
Json HealthJson(const std::vector<MeasuredGpu>& gpus, const std::vector<gpu::FailedGpu>& failed,
                const EventLog& events, SteadyTime now);

}  // namespace gantry::metrics_exporter
