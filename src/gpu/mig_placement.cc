// SPDX-License-Identifier: Apache-2.0
// Where on a GPU does each of the wanted GPU instances begin? An exact search: an instance takes a
// run of memory slices that may begin only at certain of them. There are eight slices at most, so
// that all placements are few enough to be looked at; the best keeps most of what there is.
#include "gpu/mig_placement.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <numeric>
#include <tuple>

namespace gantry::gpu {
namespace {

// How much of what there is a placement keeps; more is better.
struct Score {
  unsigned held = 0;     // compute instances of GPU instances that are held
  unsigned compute = 0;  // compute instances
  unsigned instances = 0;
  auto operator<=>(const Score&) const = default;
};

class Search {
 public:
  Search(const nvml::MigGpu& gpu, std::span<const MigRequest> requests,
         const std::set<unsigned>& held)
      : gpu_(gpu), requests_(requests), held_(held), order_(requests.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    // Large ones first leave dead ends early. Equal ones stand side by side (IsRepeated).
    std::ranges::sort(order_, [&](size_t a, size_t b) { return Before(a, b); });
    starts_.resize(requests.size());
  }

  std::optional<std::vector<unsigned>> Best() {
    Place(0, 0, {});
    return best_;
  }

 private:
  [[nodiscard]] bool Before(size_t a, size_t b) const {
    const MigRequest& one = requests_[a];
    const MigRequest& other = requests_[b];
    return std::tuple(other.start.has_value(), Size(other), one.profile, other.compute, a) <
           std::tuple(one.start.has_value(), Size(one), other.profile, one.compute, b);
  }

  [[nodiscard]] unsigned Size(const MigRequest& one) const {
    return ProfileOfNumber(gpu_, one.profile)->size;
  }

  // Two equal requests are placed in ascending order only: the other order is the same placement.
  [[nodiscard]] bool IsRepeated(size_t depth, unsigned start) const {
    return depth > 0 && requests_[order_[depth]] == requests_[order_[depth - 1]] &&
           start <= starts_[order_[depth - 1]];
  }

  [[nodiscard]] Score Kept(const MigRequest& one, unsigned start) const {
    const nvml::GpuInstance* there = InstanceAt(gpu_, one.profile, start);
    if (there == nullptr) {
      return {};
    }
    const auto kept = static_cast<unsigned>(KeptCompute(*there, one.compute).size());
    return {held_.contains(there->id) ? kept : 0, kept, 1};
  }

  void Place(size_t depth, uint32_t taken, Score score) {
    if (depth == order_.size()) {
      if (!best_.has_value() || score > best_score_) {
        best_ = starts_;
        best_score_ = score;
      }
      return;
    }
    const MigRequest& one = requests_[order_[depth]];
    const nvml::GpuInstanceProfile& profile = *ProfileOfNumber(gpu_, one.profile);
    for (const unsigned start : profile.starts) {
      const uint32_t slices = ((1U << profile.size) - 1) << start;
      if ((taken & slices) != 0 || one.start.value_or(start) != start || IsRepeated(depth, start)) {
        continue;
      }
      starts_[order_[depth]] = start;
      const Score kept = Kept(one, start);
      Place(
          depth + 1, taken | slices,
          {score.held + kept.held, score.compute + kept.compute, score.instances + kept.instances});
    }
  }

  const nvml::MigGpu& gpu_;
  std::span<const MigRequest> requests_;
  const std::set<unsigned>& held_;
  std::vector<size_t> order_;
  std::vector<unsigned> starts_;
  std::optional<std::vector<unsigned>> best_;
  Score best_score_;
};

// Media engines are not divided: together the instances want no more than the largest has.
template <typename Engines>
bool EnginesSuffice(const nvml::MigGpu& gpu, std::span<const MigRequest> requests,
                    Engines engines) {
  unsigned all = 0;
  unsigned wanted = 0;
  for (const nvml::GpuInstanceProfile& one : gpu.profiles) {
    all = std::max(all, one.*engines);
  }
  for (const MigRequest& one : requests) {
    wanted += ProfileOfNumber(gpu, one.profile)->*engines;
  }
  return wanted <= all;
}

bool CountsSuffice(const nvml::MigGpu& gpu, std::span<const MigRequest> requests) {
  return std::ranges::all_of(gpu.profiles, [&](const nvml::GpuInstanceProfile& profile) {
    return std::ranges::count(requests, profile.number, &MigRequest::profile) <= profile.count;
  });
}

}  // namespace

const nvml::GpuInstanceProfile* ProfileOfNumber(const nvml::MigGpu& gpu, unsigned number) {
  const auto found = std::ranges::find(gpu.profiles, number, &nvml::GpuInstanceProfile::number);
  return found == gpu.profiles.end() ? nullptr : &*found;
}

const nvml::GpuInstanceProfile& ProfileOf(const nvml::MigGpu& gpu,
                                          const nvml::GpuInstance& instance) {
  const auto found =
      std::ranges::find(gpu.profiles, instance.profile_id, &nvml::GpuInstanceProfile::id);
  CHECK(found != gpu.profiles.end());  // instances are read by profile
  return *found;
}

const nvml::GpuInstance* InstanceAt(const nvml::MigGpu& gpu, unsigned profile, unsigned start) {
  for (const nvml::GpuInstance& one : gpu.instances) {
    if (one.start == start && ProfileOf(gpu, one).number == profile) {
      return &one;
    }
  }
  return nullptr;
}

std::vector<unsigned> KeptCompute(const nvml::GpuInstance& instance,
                                  const std::vector<unsigned>& wanted) {
  std::vector<unsigned> kept;
  std::vector<unsigned> missing = wanted;
  for (const nvml::ComputeInstance& one : instance.compute) {
    if (const auto found = std::ranges::find(missing, one.slices); found != missing.end()) {
      missing.erase(found);
      kept.push_back(one.id);
    }
  }
  // One slice fits anywhere; more need neighbours, which what stays may have divided.
  const bool fits = std::ranges::all_of(missing, [](unsigned slices) { return slices == 1; });
  return fits ? kept : std::vector<unsigned>{};
}

std::optional<std::vector<unsigned>> PlaceMig(const nvml::MigGpu& gpu,
                                              std::span<const MigRequest> requests,
                                              const std::set<unsigned>& held) {
  if (!CountsSuffice(gpu, requests) ||
      !EnginesSuffice(gpu, requests, &nvml::GpuInstanceProfile::decoders) ||
      !EnginesSuffice(gpu, requests, &nvml::GpuInstanceProfile::jpeg_engines) ||
      !EnginesSuffice(gpu, requests, &nvml::GpuInstanceProfile::ofa_engines)) {
    return std::nullopt;
  }
  return Search(gpu, requests, held).Best();
}

}  // namespace gantry::gpu
