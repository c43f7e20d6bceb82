// SPDX-License-Identifier: Apache-2.0
// Has a missing GPU been removed, or does it only not answer? NVML still counts a GPU that fell off
// the bus, but has no name for it.
#include "gpu/gpu_set.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace gantry::gpu {
namespace {

bool Has(const GpuSet& set, const std::string& uuid) {
  return std::ranges::find(set.gpus, uuid, &Gpu::uuid) != set.gpus.end();
}

// Nothing if one of them is not in the set.
std::optional<int> ScoreIn(const GpuSet& set, const std::string& a, const std::string& b) {
  const auto first = std::ranges::find(set.gpus, a, &Gpu::uuid);
  const auto second = std::ranges::find(set.gpus, b, &Gpu::uuid);
  if (first == set.gpus.end() || second == set.gpus.end()) {
    return std::nullopt;
  }
  const auto row = static_cast<size_t>(first - set.gpus.begin());
  return set.scores[row][static_cast<size_t>(second - set.gpus.begin())];
}

}  // namespace

void NameFailed(const GpuSet& before, GpuSet& now) {
  if (now.driver_version != before.driver_version) {
    return;
  }
  for (FailedGpu& failed : now.failed) {
    // The index identifies it, unless its GPU has another index now.
    const auto is_it = [&](const auto& known) {
      return failed.uuid.empty() && known.index == failed.index && !Has(now, known.uuid);
    };
    if (const auto known = std::ranges::find_if(before.gpus, is_it); known != before.gpus.end()) {
      failed.uuid = known->uuid;
    } else if (const auto lost = std::ranges::find_if(before.failed, is_it);
               lost != before.failed.end()) {
      failed.uuid = lost->uuid;
    }
  }
}

std::vector<FailedGpu> KeepUnreadable(const GpuSet& before, GpuSet& now) {
  std::vector<FailedGpu> kept;
  if (now.driver_version != before.driver_version) {
    return kept;
  }
  NameFailed(before, now);
  GpuSet all = now;
  all.failed.clear();
  for (auto& failed : now.failed) {
    const auto known = std::ranges::find(before.gpus, failed.uuid, &Gpu::uuid);
    if (known == before.gpus.end()) {
      all.failed.push_back(std::move(failed));
      continue;
    }
    all.gpus.push_back(*known);
    all.gpus.back().index = failed.index;
    kept.push_back(std::move(failed));
  }
  std::ranges::sort(all.gpus, {}, &Gpu::index);
  all.scores.clear();
  for (const auto& a : all.gpus) {
    auto& row = all.scores.emplace_back();
    std::ranges::transform(all.gpus, std::back_inserter(row), [&](const Gpu& b) {
      // A lost GPU's links are down; the set is equal if nothing else has changed.
      const auto known = ScoreIn(before, a.uuid, b.uuid);
      return known ? *known : ScoreIn(now, a.uuid, b.uuid).value_or(0);
    });
  }
  now = std::move(all);
  return kept;
}

void KeepHeld(const std::optional<GpuSet>& before, const std::set<std::string>& held, GpuSet& now) {
  for (size_t i = now.gpus.size(); i-- > 0;) {
    Gpu& gpu = now.gpus[i];
    if (!held.contains(gpu.uuid)) {
      continue;
    }
    if (before.has_value() && Has(*before, gpu.uuid)) {
      const unsigned index = gpu.index;
      gpu = *std::ranges::find(before->gpus, gpu.uuid, &Gpu::uuid);
      gpu.index = index;
      continue;
    }
    const auto at = static_cast<std::ptrdiff_t>(i);
    now.gpus.erase(now.gpus.begin() + at);
    now.scores.erase(now.scores.begin() + at);
    for (auto& row : now.scores) {
      row.erase(row.begin() + at);
    }
  }
}

}  // namespace gantry::gpu
