// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gpu/gpu.h"
#include "nvml/nvml.h"
#include "operands/metrics_exporter/counters.h"
#include "operands/metrics_exporter/gpu_health.h"

namespace gantry::metrics_exporter {

// Counters that never go down while the GPU runs: after a reset they begin anew.
struct ResetMarks {
  std::optional<double> energy = {};
  std::optional<double> replays = {};
  std::optional<double> volatile_errors = {};
};
// Whether the GPU was reset between the two.
bool WasReset(const ResetMarks& before, const ResetMarks& now);

// Whether data can go from one GPU to another over NVLink.
struct PeerStatus {
  unsigned gpu;     // the other GPU's index
  unsigned status;  // nvmlGpuP2PStatus_t
};
std::string_view PeerStatusText(unsigned status);  // "OK", as dcgm-exporter prints it

// What is read of a GPU besides the fields that the counters name.
struct Facts {
  std::optional<uint64_t> clock_reasons = {};
  std::optional<ResetMarks> marks = {};
  std::optional<HealthReadings> health = {};
  std::vector<PeerStatus> peers = {};
};

// What of it the counters ask for.
struct FactsWanted {
  bool clock_reasons = false;
  bool marks = false;
  bool health = false;
  bool peers = false;
};
FactsWanted WantedBy(const Counters& counters);

// An error: the GPU is lost. May hang, as NVML may.
Result<Facts> ReadFacts(const nvml::Library& library, const gpu::Gpu& gpu,
                        const std::vector<gpu::Gpu>& all, const FactsWanted& wanted);

}  // namespace gantry::metrics_exporter
