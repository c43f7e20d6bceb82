// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "gpu/gpu.h"

namespace gantry::gpu {

// How well two GPUs are connected. Symmetric; 0 for a GPU and itself.
using PairScores = std::vector<std::vector<int>>;

// A GPU that is there and can't be read.
struct FailedGpu {
  unsigned index = 0;
  std::string uuid;  // empty: not even that
  std::string reason;
  bool operator==(const FailedGpu&) const = default;
};

// The GPUs of a node as one look at them found them.
struct GpuSet {
  std::vector<Gpu> gpus;  // by index
  PairScores scores;      // in their order
  std::string driver_version;
  std::string cuda_version;       // "12.4"; may be empty
  std::vector<FailedGpu> failed;  // those of which nothing is known
  bool operator==(const GpuSet&) const = default;
};

// Of the GPUs that `now` can't read, those that `before` has move from `now.failed` to `now.gpus`,
// as they were: they are still there, and unhealthy. Returns them, by UUID. What another driver
// has told of a GPU does not count.
std::vector<FailedGpu> KeepUnreadable(const GpuSet& before, GpuSet& now);

}  // namespace gantry::gpu
