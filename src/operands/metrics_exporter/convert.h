// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "nvml/sample.h"
#include "operands/metrics_exporter/fields.h"

namespace gantry::metrics_exporter {

// What NVML answered, as DCGM gives it; nullopt: there is nothing to print. Temperatures above 200
// degrees are a sensor's way to say that it does not know.
std::optional<nvml::Value> Convert(const Field& field, const nvml::Answer& answer);

// The sum of NVLink's counters in KiB at some time.
struct LinkCounter {
  double kib = 0;
  std::chrono::steady_clock::time_point at;
};
// DCGM's rate of NVLink: KiB/s / 1000, whole. nullopt: there is none yet, or the counter was reset.
std::optional<nvml::Value> LinkRate(const std::optional<LinkCounter>& before,
                                    const LinkCounter& now);

// Whether performance counters (GPM) stand still: by them the GPU is idle, and it is in use.
bool IsFrozen(const nvml::Answer& graphics, const nvml::Answer& utilization);

}  // namespace gantry::metrics_exporter
