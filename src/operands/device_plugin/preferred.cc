// SPDX-License-Identifier: Apache-2.0
// Which GPUs should a container get together? From how well each pair is connected.
//
// A pod waits during this call. All sets are tried if there are few enough (8 of 16 GPUs give
// 12,870), with incremental scores; beyond that a greedy choice is improved by exchanges. A well
// connected rest matters as much as the set: the first pod with one GPU must not break the only
// NVLink pair.
#include "operands/device_plugin/preferred.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "base/text.h"

namespace gantry::device_plugin {
namespace {

using Positions = std::vector<size_t>;

constexpr size_t kExhaustive = 16;

// The best way to complete a set, over positions in `scores`.
class Search {
 public:
  Search(const gpu::PairScores& scores, const Positions& available, Positions required, size_t size)
      : scores_(scores),
        required_(std::move(required)),
        free_(Without(available, required_)),
        needed_(size - required_.size()) {}

  Positions Best() {
    if (free_.size() <= kExhaustive) {
      chosen_ = required_;
      Try(0, SetScore(scores_, required_), SetScore(scores_, free_), needed_);
    } else {
      Greedy();
    }
    std::ranges::sort(best_);
    return best_;
  }

 private:
  static Positions Without(const Positions& all, const Positions& taken) {
    Positions left;
    std::ranges::copy_if(all, std::back_inserter(left), [&taken](size_t at) {
      return std::ranges::find(taken, at) == taken.end();
    });
    return left;
  }

  int Connections(size_t at, const Positions& to) const {
    return std::accumulate(to.begin(), to.end(), 0,
                           [&](int sum, size_t other) { return sum + scores_[at][other]; });
  }

  // Chooses `needed` of free_[from..]. `inside` is the score of the chosen ones, `outside` of the
  // rest. Of equals the first is kept, which has the lowest positions.
  void Try(size_t from, int inside, int outside, size_t needed) {
    if (needed == 0) {
      if (best_.empty() || std::tie(inside, outside) > std::tie(best_inside_, best_outside_)) {
        best_ = chosen_;
        best_inside_ = inside;
        best_outside_ = outside;
      }
      return;
    }
    for (size_t i = from; i + needed <= free_.size(); ++i) {
      const size_t at = free_[i];
      const int gained = Connections(at, chosen_);
      const int lost = Connections(at, free_) - Connections(at, chosen_free_);
      chosen_.push_back(at);
      chosen_free_.push_back(at);
      Try(i + 1, inside + gained, outside - lost, needed - 1);
      chosen_.pop_back();
      chosen_free_.pop_back();
    }
  }

  // Adds the best connected ones one by one, then exchanges single ones while that improves the
  // score.
  void Greedy() {
    best_ = required_;
    while (best_.size() < required_.size() + needed_) {
      const auto rest = Without(free_, best_);
      best_.push_back(*std::ranges::max_element(rest, {}, [&](size_t at) {
        // For the first one: the one with the best neighbours.
        return std::pair(Connections(at, best_), best_.empty() ? BestNeighbours(at) : 0);
      }));
    }
    while (ExchangeOne()) {
    }
  }

  int BestNeighbours(size_t at) const {
    std::vector<int> pairs;
    for (const size_t other : free_) {
      pairs.push_back(other == at ? 0 : scores_[at][other]);
    }
    std::ranges::sort(pairs, std::greater<>());
    const auto near = std::min(needed_ - 1, pairs.size());
    return std::accumulate(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(near), 0);
  }

  bool ExchangeOne() {
    for (size_t i = required_.size(); i < best_.size(); ++i) {
      for (const size_t other : Without(free_, best_)) {
        Positions changed = best_;
        changed[i] = other;
        if (Connections(other, changed) - scores_[other][other] >
            Connections(best_[i], best_) - scores_[best_[i]][best_[i]]) {
          best_ = changed;
          return true;
        }
      }
    }
    return false;
  }

  const gpu::PairScores& scores_;
  const Positions required_;
  const Positions free_;
  const size_t needed_;
  Positions chosen_;
  Positions chosen_free_;  // those of chosen_ that were free
  Positions best_;
  int best_inside_ = 0;
  int best_outside_ = 0;
};

std::optional<size_t> PositionOf(const Resource& resource, std::string_view id) {
  const auto* unit = resource.UnitOf(id);
  return unit == nullptr ? std::nullopt
                         : std::optional(static_cast<size_t>(unit - resource.units.data()));
}

std::unexpected<Error> CantPrefer(const Resource& resource, const std::string& reason) {
  return Fail(ErrorKind::kInvalid,
              format("invalid preferred allocation request for '{}': {}", resource.name, reason));
}

Result<Positions> PositionsOf(const Resource& resource, const std::vector<std::string>& ids) {
  Positions found;
  for (const auto& id : ids) {
    const auto at = PositionOf(resource, id);
    if (!at) {
      return CantPrefer(resource, "unknown device: " + id);
    }
    found.push_back(*at);
  }
  std::ranges::sort(found);
  const auto twice = std::ranges::unique(found);
  found.erase(twice.begin(), twice.end());
  return found;
}

Result<std::vector<std::string>> PreferExclusive(const Resource& resource,
                                                 const gpu::PairScores& scores,
                                                 const kubelet::PreferredRequest& request) {
  TRY_ASSIGN(const auto required, PositionsOf(resource, request.required));
  TRY_ASSIGN(const auto available, PositionsOf(resource, request.available));
  const auto size = static_cast<size_t>(request.size);
  if (required.size() != request.required.size() || size > available.size() ||
      size < required.size() || !std::ranges::includes(available, required)) {
    return std::vector<std::string>();
  }
  std::vector<std::string> ids;
  for (const size_t at : Search(scores, available, required, size).Best()) {
    ids.push_back(resource.units[at].uuid);
  }
  return ids;
}

// How much of a unit, and of its GPU, is in use, including this choice.
struct Use {
  size_t in_use = 0;  // shares
  size_t picked = 0;  // in this choice
  size_t gpu = 0;     // position of the first unit of the same GPU, which has the GPU's sum
  size_t gpu_in_use = 0;
  Positions free;  // positions in the available ids
};

std::vector<Use> UseOf(const Resource& resource, const std::vector<std::string>& taken,
                       const std::vector<std::string>& available) {
  std::vector<Use> uses(resource.units.size());
  for (size_t i = 0; i < uses.size(); ++i) {
    uses[i].in_use = static_cast<size_t>(resource.units[i].replicas);
    const auto first =
        std::ranges::find(resource.units, resource.units[i].gpu_uuid, &Unit::gpu_uuid);
    uses[i].gpu = static_cast<size_t>(first - resource.units.begin());
  }
  for (size_t i = 0; i < available.size(); ++i) {
    const auto at = PositionOf(resource, available[i]);
    if (at && std::ranges::find(taken, available[i]) == taken.end()) {
      uses[*at].in_use--;
      uses[*at].free.push_back(i);
    }
  }
  for (const auto& use : uses) {
    uses[use.gpu].gpu_in_use += use.in_use;
  }
  return uses;
}

Result<std::vector<std::string>> PreferShares(const Resource& resource, SharedPolicy policy,
                                              const kubelet::PreferredRequest& request) {
  std::vector<std::string> ids = request.required;
  auto uses = UseOf(resource, ids, request.available);
  // The lowest is taken first. MIG devices are in use or not, so their GPU's sum decides.
  const auto rank = [&](const Use& use) {
    const auto sign = policy == SharedPolicy::kDistributed ? 1 : -1;
    return std::tuple(sign * static_cast<std::ptrdiff_t>(uses[use.gpu].gpu_in_use),
                      sign * static_cast<std::ptrdiff_t>(use.in_use), use.picked);
  };
  while (ids.size() < static_cast<size_t>(request.size)) {
    Use* best = nullptr;
    for (auto& use : uses) {
      if (!use.free.empty() && (best == nullptr || rank(use) < rank(*best))) {
        best = &use;
      }
    }
    if (best == nullptr) {
      return CantPrefer(
          resource, format("{} devices are asked for, {} are available", request.size, ids.size()));
    }
    ids.push_back(request.available[best->free.front()]);
    best->free.erase(best->free.begin());
    best->in_use++;
    best->picked++;
    uses[best->gpu].gpu_in_use++;
  }
  return ids;
}

bool IsExclusive(const Resource& resource) {
  return std::ranges::all_of(resource.units,
                             [](const Unit& unit) { return unit.replicas == 1 && !unit.is_mig(); });
}

}  // namespace

int SetScore(const gpu::PairScores& scores, const std::vector<size_t>& set) {
  int sum = 0;
  for (size_t i = 0; i < set.size(); ++i) {
    for (size_t j = i + 1; j < set.size(); ++j) {
      sum += scores[set[i]][set[j]];
    }
  }
  return sum;
}

Result<std::vector<std::string>> Prefer(const Resource& resource, const gpu::PairScores& scores,
                                        SharedPolicy policy,
                                        const kubelet::PreferredRequest& request) {
  if (request.size <= 0) {
    return std::vector<std::string>();
  }
  return IsExclusive(resource) ? PreferExclusive(resource, scores, request)
                               : PreferShares(resource, policy, request);
}

}  // namespace gantry::device_plugin
