// SPDX-License-Identifier: Apache-2.0
// How well are two GPUs connected, as one number? From PCIe distance and NVLinks. Upstream does not
// count links that end in an NVSwitch, so that on HGX boards only PCIe decides.
#include "gpu/scores.h"

#include <algorithm>

namespace gantry::gpu {
namespace {

constexpr unsigned kMostLinks = 18;
constexpr int kPointsPerLink = 100;

int PciePoints(nvml::Ancestor ancestor) {
  switch (ancestor) {
    case nvml::Ancestor::kInternal:
      return 60;
    case nvml::Ancestor::kSingle:
      return 50;
    case nvml::Ancestor::kMultiple:
      return 40;
    case nvml::Ancestor::kHostBridge:
      return 30;
    case nvml::Ancestor::kNode:
      return 20;
    case nvml::Ancestor::kSystem:
      return 10;
    case nvml::Ancestor::kUnknown:
      break;
  }
  return 0;
}

}  // namespace

PairScores ScoresOf(const nvml::Topology& topology) {
  const size_t count = topology.pairs.size();
  PairScores scores(count, std::vector<int>(count, 0));
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = 0; b < count; ++b) {
      if (a != b) {
        const auto& pair = topology.pairs[a][b];
        const auto links = std::min(pair.nvlinks + pair.switch_links, kMostLinks);
        scores[a][b] = PciePoints(pair.ancestor) + kPointsPerLink * static_cast<int>(links);
      }
    }
  }
  return scores;
}

PairScores ScoresFor(const std::vector<Unit>& units, const GpuSet& all) {
  std::vector<size_t> positions;
  for (const auto& unit : units) {
    const auto found = std::ranges::find(all.gpus, unit.gpu_uuid, &Gpu::uuid);
    CHECK(found != all.gpus.end());
    positions.push_back(static_cast<size_t>(found - all.gpus.begin()));
  }
  PairScores scores;
  for (const size_t a : positions) {
    auto& row = scores.emplace_back();
    for (const size_t b : positions) {
      row.push_back(all.scores[a][b]);
    }
  }
  return scores;
}

}  // namespace gantry::gpu
