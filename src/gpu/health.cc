// SPDX-License-Identifier: Apache-2.0
// Is a GPU fit for service? Decided from XID events and probes, for each GPU separately: upstream
// gives up all GPUs if one returns an error, and none comes back without a restart. An event that
// names MIG instances concerns the MIG devices of those instances only.
#include "gpu/health.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace gantry::gpu {

std::string_view Name(Health health) {
  switch (health) {
    case Health::kHealthy:
      return "healthy";
    case Health::kSuspect:
      return "suspect";
    case Health::kUnhealthy:
      return "unhealthy";
    case Health::kRecovering:
      return "recovering";
  }
  return "healthy";
}

void HealthBook::Track(const std::vector<Gpu>& gpus) {
  std::map<std::string, Entry> kept;
  const auto keep = [&](const std::string& uuid, const std::string& gpu_uuid) -> Entry& {
    auto& entry = kept[uuid];
    entry = std::move(entries_[uuid]);
    entry.gpu_uuid = gpu_uuid;
    return entry;
  };
  for (const auto& gpu : gpus) {
    if (gpu.mig_devices.empty()) {
      keep(gpu.uuid, gpu.uuid);
    }
    for (const auto& mig : gpu.mig_devices) {
      auto& entry = keep(mig.uuid, gpu.uuid);
      entry.gpu_instance = mig.gpu_instance;
      entry.compute_instance = mig.compute_instance;
    }
  }
  entries_ = std::move(kept);
}

std::vector<HealthChange> HealthBook::OnXid(const XidEvent& event, SteadyTime now) {
  const auto verdict = policy_.VerdictOf(event.xid);
  std::vector<HealthChange> changes;
  if (verdict == XidVerdict::kIgnore) {
    return changes;
  }
  const bool nameless = event.gpu_uuid.empty();
  const auto concerns = [&](const Entry& entry) {
    return nameless ||
           (entry.gpu_uuid == event.gpu_uuid &&
            (!event.gpu_instance || entry.gpu_instance == event.gpu_instance) &&
            (!event.compute_instance || entry.compute_instance == event.compute_instance));
  };
  for (auto& [uuid, entry] : entries_) {
    if (!concerns(entry)) {
      continue;
    }
    if (nameless) {
      // It may be any of them, and most are healthy: those that fail the probe are taken out of
      // service.
      if (entry.health == Health::kHealthy) {
        Move(uuid, entry, Health::kSuspect, format("XID {} on a GPU that is not known", event.xid),
             changes);
      }
    } else if (verdict == XidVerdict::kUnhealthy) {
      Move(uuid, entry, Health::kUnhealthy, format("XID {}", event.xid), changes);
    } else if (entry.health == Health::kHealthy) {
      Move(uuid, entry, Health::kSuspect, format("XID {}", event.xid), changes);
    }
    // A probe that began before the event says nothing about the state after it.
    entry.good_since = now;
  }
  return changes;
}

std::vector<HealthChange> HealthBook::OnProbe(const std::string& gpu_uuid, const Status& answer,
                                              SteadyTime now) {
  std::vector<HealthChange> changes;
  for (auto& [uuid, entry] : entries_) {
    if (entry.gpu_uuid != gpu_uuid) {
      continue;
    }
    if (!answer) {
      entry.good_since.reset();
      Move(uuid, entry, Health::kUnhealthy, answer.error().message, changes);
      continue;
    }
    if (entry.health == Health::kHealthy) {
      continue;
    }
    entry.good_since = std::min(entry.good_since.value_or(now), now);
    if (now - *entry.good_since >= kRecovery) {
      Move(uuid, entry, Health::kHealthy, entry.reason, changes);
    } else if (entry.health == Health::kUnhealthy) {
      Move(uuid, entry, Health::kRecovering, entry.reason, changes);
    }
  }
  return changes;
}

void HealthBook::Move(const std::string& uuid, Entry& entry, Health to, const std::string& reason,
                      std::vector<HealthChange>& changes) {
  const auto from = std::exchange(entry.health, to);
  // The first reason is kept: later ones are mostly its consequences.
  if (InService(from) || to == Health::kHealthy) {
    entry.reason = reason;
  }
  if (from != to) {
    changes.push_back({.uuid = uuid, .from = from, .to = to, .reason = entry.reason});
  }
}

std::set<std::string> HealthBook::out_of_service() const {
  std::set<std::string> uuids;
  for (const auto& [uuid, entry] : entries_) {
    if (!InService(entry.health)) {
      uuids.insert(uuid);
    }
  }
  return uuids;
}

std::map<std::string, std::string> HealthBook::reasons() const {
  std::map<std::string, std::string> reasons;
  for (const auto& [uuid, entry] : entries_) {
    if (!InService(entry.health)) {
      reasons[uuid] = entry.reason;
    }
  }
  return reasons;
}

std::optional<SteadyTime> HealthBook::NextProbe(SteadyTime last) const {
  const bool all_healthy = std::ranges::all_of(
      entries_, [](const auto& entry) { return entry.second.health == Health::kHealthy; });
  if (all_healthy && !policy_.probe) {
    return std::nullopt;
  }
  return last + (all_healthy ? kProbePause : kReprobePause);
}

}  // namespace gantry::gpu
