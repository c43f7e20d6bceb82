// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "gpu/gpu_set.h"
#include "nvml/nvml.h"
#include "operands/metrics_exporter/convert.h"
#include "operands/metrics_exporter/device_selector.h"
#include "operands/metrics_exporter/facts.h"
#include "operands/metrics_exporter/process_uses.h"
#include "operands/metrics_exporter/series.h"

namespace gantry::metrics_exporter {

// What was last measured of each GPU, and by which counters. Thread-safe; nothing but Sample
// blocks.
class Sampler {
 public:
  // With `processes_root`, where the node's root is mounted, also what pods use of each GPU.
  explicit Sampler(std::shared_ptr<const Counters> counters, DeviceSelector devices = {},
                   std::string processes_root = "")
      : devices_(std::move(devices)),
        counters_(std::move(counters)),
        node_{.root = std::move(processes_root), .running = std::nullopt} {}

  // Asks one GPU and its GPU instances for what the counters want; one call at a time for a GPU. An
  // error: it is lost. What it said before stays until Drop.
  Status Sample(const std::shared_ptr<nvml::Library>& library, const std::string& uuid);

  // Reads what health is judged by until then, also if no counter asks for it.
  void WantHealth(SteadyTime until);
  // The uids of the node's running pods (host::RunningPods); nullopt: unknown.
  void SetRunning(std::optional<std::set<std::string>> pods);
  // The GPUs that there are; values of others are forgotten, but for lost ones that the set names.
  // True: the selected ones are others.
  bool SetGpus(gpu::GpuSet set);
  // Those that are selected.
  [[nodiscard]] std::vector<gpu::Gpu> gpus() const;
  // The GPU is lost, and has no values, until it is asked again.
  void Drop(const std::string& uuid);
  // No GPU has values, and nothing of the driver's library is kept.
  void DropAll();
  // Nothing of the driver's library is kept; values stay. Not while Sample runs.
  void ForgetLibrary();

  // Other counters from now on. Those before are printed until Publish, so that no scrape comes
  // between them empty-handed.
  void SetCounters(std::shared_ptr<const Counters> counters);
  // Every GPU has been asked since.
  void Publish();
  // Other counters are set, and not every GPU has been asked for them.
  [[nodiscard]] bool reloading() const;

  // Another number whenever Take may return something else.
  [[nodiscard]] uint64_t version() const;

  struct Snapshot {
    std::shared_ptr<const Counters> counters;
    std::vector<MeasuredGpu> gpus;  // by index
  };
  [[nodiscard]] Snapshot Take() const;
  // What else is known of a GPU since it was last asked; nullopt: it gave no answer.
  [[nodiscard]] std::optional<Facts> FactsOf(const std::string& uuid) const;

 private:
  // What rates are made of. Touched by Sample alone.
  struct Part {
    std::map<std::pair<unsigned, unsigned>, LinkCounter> links;  // by way and link
    std::shared_ptr<nvml::Library> library;                      // outlives the sample
    std::unique_ptr<nvml::GpmSample> gpm;
    SteadyTime gpm_absent_until{};  // it has no performance counters
    bool gpm_frozen = false;        // at the last sample
    UsesBefore uses;
  };
  struct OfGpu {
    MeasuredGpu measured;
    Facts facts;
  };
  using Values = std::map<std::string, OfGpu>;
  struct History;
  struct Target;

  const DeviceSelector devices_;
  mutable std::mutex mutex_;
  uint64_t version_ = 0;
  std::shared_ptr<const Counters> counters_;
  std::shared_ptr<const Counters> next_;
  SteadyTime health_until_{};
  gpu::GpuSet set_;
  NodeProcesses node_;
  Values values_;
  Values next_values_;
  std::map<std::string, std::shared_ptr<History>> history_;

  [[nodiscard]] std::vector<gpu::Gpu> SelectedGpus() const;  // with the mutex held
  void Blank(const std::string& uuid);                       // the same
  static Status Measure(const std::shared_ptr<nvml::Library>& library, const Target& target,
                        OfGpu& to);
};

}  // namespace gantry::metrics_exporter
