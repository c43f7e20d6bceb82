// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpu/gpu.h"

namespace gantry::gpu {

// How well two GPUs are connected. Symmetric; 0 for a GPU and itself.
using PairScores = std::vector<std::vector<int>>;

// A GPU that exists and can't be read.
struct FailedGpu {
  unsigned index = 0;
  std::string uuid;  // empty: unknown too
  std::string reason;
  bool operator==(const FailedGpu&) const = default;
};

// The GPUs of a node, as one enumeration found them.
struct GpuSet {
  std::vector<Gpu> gpus;  // by index
  PairScores scores;      // in their order
  std::string driver_version;
  std::string cuda_version;       // "12.4"; may be empty
  std::vector<FailedGpu> failed;  // those of which nothing could be read
  bool operator==(const GpuSet&) const = default;
};

// Gives the GPUs that `now` can't name the UUIDs that `before` has for their indices. Facts from
// another driver version do not count.
void NameFailed(const GpuSet& before, GpuSet& now);

// Moves the GPUs that `now` can't read and `before` has from `now.failed` to `now.gpus`, with their
// earlier properties: they still exist, and are unhealthy. Returns them, by UUID. Facts from
// another driver version do not count.
std::vector<FailedGpu> KeepUnreadable(const GpuSet& before, GpuSet& now);

// Gives the `held` GPUs (UUIDs) in `now` the properties that they have in `before`, because another
// program changes them; one that is not in `before` is removed, and stays unknown until it is free.
void KeepHeld(const std::optional<GpuSet>& before, const std::set<std::string>& held, GpuSet& now);

}  // namespace gantry::gpu
