// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "gpu/gpu_set.h"
#include "nvml/nvml.h"
#include "operands/metrics_exporter/sampler.h"

namespace gantry::metrics_exporter {

// Fields by DCGM's numbers, "150,1001". kInvalid names a number that is none, or that of a field
// that can't be had.
Result<Counters> CountersOfIds(std::string_view ids);

// Fields that tools of this node ask for now, beside the counters. They are read as often as a tool
// asks, which leaves the rates of the counters as they are. Thread-safe; nothing but Sample blocks.
class LiveValues {
 public:
  // `look`: all GPUs are to be sampled once. Called from the thread that asks.
  explicit LiveValues(std::function<void()> look) : look_(std::move(look)) {}

  // What there is of these fields, at most so old. nullopt: not yet; a look has been asked for.
  // kInvalid: as CountersOfIds. kUnavailable: too many sets of fields at once.
  Result<std::optional<Sampler::Snapshot>> Take(const std::string& ids,
                                                std::chrono::milliseconds age, SteadyTime now);

  // As Sampler's.
  void SetGpus(const gpu::GpuSet& set);
  [[nodiscard]] gpu::GpuSet gpus();
  void ForgetLibrary();
  // For each set of fields that was asked for in the last minute; an error: the GPU is lost.
  Status Sample(const std::shared_ptr<nvml::Library>& library, const std::string& uuid);
  // A look at a GPU has ended. One that gave no answer is not waited for until it gives one.
  void Ended(const std::string& uuid, bool answered);

 private:
  struct Set {
    std::shared_ptr<Sampler> sampler;
    SteadyTime asked;                      // last
    std::optional<SteadyTime> taken = {};  // when it was complete
    std::optional<SteadyTime> begun = {};  // the look that is waited for
    std::set<std::string> missing = {};    // GPUs that it is waited for
  };
  void BeginLook(Set& set, SteadyTime now);
  void Got(const std::string& uuid);

  const std::function<void()> look_;
  std::mutex mutex_;
  gpu::GpuSet gpus_;
  std::set<std::string> silent_;     // GPUs that gave no answer
  std::map<std::string, Set> sets_;  // by ids
};

}  // namespace gantry::metrics_exporter
