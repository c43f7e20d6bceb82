// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/gpu_set.h"
#include "nvml/nvml.h"
#include "operands/metrics_exporter/convert.h"
#include "operands/metrics_exporter/process_uses.h"
#include "operands/metrics_exporter/series.h"

namespace gantry::metrics_exporter {

// What was last measured of each GPU, and by which counters. Thread-safe; nothing but Sample
// blocks.
class Sampler {
 public:
  // With `processes_root`, where the node's root is mounted, also what pods use of each GPU.
  explicit Sampler(std::shared_ptr<const Counters> counters, std::string processes_root = "")
      : processes_root_(std::move(processes_root)), counters_(std::move(counters)) {}

  // Asks one GPU and its GPU instances for what the counters want; one call at a time for a GPU. An
  // error: it is lost. What it said before stays until Drop.
  Status Sample(const std::shared_ptr<nvml::Library>& library, const std::string& uuid);

  // The GPUs that there are; values of others are forgotten.
  void SetGpus(gpu::GpuSet set);
  [[nodiscard]] std::vector<gpu::Gpu> gpus() const;
  // The GPU has no values until it is asked again.
  void Drop(const std::string& uuid);
  // No GPU has values, and nothing of the driver's library is kept.
  void DropAll();

  // Other counters from now on. Those before are printed until Publish, so that no scrape comes
  // between them empty-handed.
  void SetCounters(std::shared_ptr<const Counters> counters);
  // Every GPU has been asked since.
  void Publish();

  struct Snapshot {
    std::shared_ptr<const Counters> counters;
    std::vector<MeasuredGpu> gpus;  // by index
  };
  [[nodiscard]] Snapshot Take() const;
  // What held a GPU's clocks back when it was last asked; nullopt: no counter wants it.
  [[nodiscard]] std::optional<uint64_t> ClockReasons(const std::string& uuid) const;

 private:
  // What rates are made of. Touched by Sample alone.
  struct Part {
    std::map<std::pair<unsigned, unsigned>, LinkCounter> links;  // by way and link
    std::shared_ptr<nvml::Library> library;                      // outlives the sample
    std::unique_ptr<nvml::GpmSample> gpm;
    UsesBefore uses;
  };
  struct OfGpu {
    MeasuredGpu measured;
    std::optional<uint64_t> reasons;
  };
  using Values = std::map<std::string, OfGpu>;
  struct History;
  struct Target;

  const std::string processes_root_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Counters> counters_;
  std::shared_ptr<const Counters> next_;
  gpu::GpuSet set_;
  Values values_;
  Values next_values_;
  std::map<std::string, std::shared_ptr<History>> history_;

  static Status Measure(const std::shared_ptr<nvml::Library>& library, const Target& target,
                        OfGpu& to);
};

}  // namespace gantry::metrics_exporter
