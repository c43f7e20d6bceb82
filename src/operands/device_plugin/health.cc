// SPDX-License-Identifier: Apache-2.0
// Is a GPU fit for service? From XID events and answers to probes, each GPU by itself: upstream
// gives up all GPUs when one answers with an error, and none comes back without a restart.
#include "operands/device_plugin/health.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace gantry::device_plugin {

void HealthBook::Track(const std::vector<std::string>& uuids) {
  std::map<std::string, Gpu> kept;
  for (const auto& uuid : uuids) {
    kept[uuid] = std::move(gpus_[uuid]);
  }
  gpus_ = std::move(kept);
}

std::optional<HealthChange> HealthBook::OnXid(const std::string& uuid, uint64_t xid,
                                              SteadyTime now) {
  const auto found = gpus_.find(uuid);
  if (found == gpus_.end() || !policy_.IsFatal(xid)) {
    return std::nullopt;
  }
  auto change = Lose(uuid, found->second, format("XID {}", xid));
  // A probe that was under way says nothing about what comes after the event.
  found->second.good_since = now;
  return change;
}

std::optional<HealthChange> HealthBook::OnProbe(const std::string& uuid, const Status& answer,
                                                SteadyTime now) {
  const auto found = gpus_.find(uuid);
  if (found == gpus_.end()) {
    return std::nullopt;
  }
  auto& gpu = found->second;
  if (!answer) {
    gpu.good_since.reset();
    return Lose(uuid, gpu, answer.error().message);
  }
  if (gpu.healthy) {
    return std::nullopt;
  }
  gpu.good_since = std::min(gpu.good_since.value_or(now), now);
  if (now - *gpu.good_since < kRecovery) {
    return std::nullopt;
  }
  gpu.healthy = true;
  return HealthChange{.uuid = uuid, .healthy = true, .reason = std::exchange(gpu.reason, "")};
}

std::optional<HealthChange> HealthBook::Lose(const std::string& uuid, Gpu& gpu,
                                             std::string reason) {
  if (!gpu.healthy) {
    return std::nullopt;
  }
  gpu.healthy = false;
  gpu.reason = std::move(reason);
  return HealthChange{.uuid = uuid, .healthy = false, .reason = gpu.reason};
}

std::set<std::string> HealthBook::unhealthy() const {
  std::set<std::string> uuids;
  for (const auto& [uuid, gpu] : gpus_) {
    if (!gpu.healthy) {
      uuids.insert(uuid);
    }
  }
  return uuids;
}

std::optional<SteadyTime> HealthBook::NextProbe(SteadyTime last) const {
  const bool all_healthy =
      std::ranges::all_of(gpus_, [](const auto& entry) { return entry.second.healthy; });
  if (all_healthy && !policy_.probe) {
    return std::nullopt;
  }
  return last + (all_healthy ? kProbePause : kReprobePause);
}

}  // namespace gantry::device_plugin
