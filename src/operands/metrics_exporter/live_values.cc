// SPDX-License-Identifier: Apache-2.0
// What do the GPUs say of fields that no counter asks for, at this moment? Each set of fields has a
// sampler of its own while somebody asks.
#include "operands/metrics_exporter/live_values.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "operands/metrics_exporter/field_ids.h"

namespace gantry::metrics_exporter {
namespace {

constexpr size_t kMostSets = 4;
constexpr size_t kMostFields = 128;
constexpr std::chrono::seconds kKept(60);  // a set that is asked for no more
// A look that takes longer is begun anew: the driver was closed meanwhile.
constexpr std::chrono::seconds kLookLimit(10);

}  // namespace

Result<Counters> CountersOfIds(std::string_view ids) {
  Counters counters;
  for (const std::string& text : Split(ids, ',')) {
    const Result<long long> id = ParseInt(text);
    const auto field =
        id && *id > 0 ? FieldOfId(static_cast<unsigned>(std::min(*id, 1LL << 16))) : std::nullopt;
    if (!field) {
      return Fail(ErrorKind::kInvalid,
                  format("field \"{}\" is not one of DCGM's, or only DCGM can read it", text));
    }
    if (field->level == Level::kLink) {
      return Fail(ErrorKind::kInvalid,
                  format("field {} ({}) is one of single NVLinks", text, field->name));
    }
    counters.metrics.push_back(
        {.name = field->name, .type = Type::kGauge, .help = "", .field = *field});
  }
  if (counters.metrics.empty() || counters.metrics.size() > kMostFields) {
    return Fail(ErrorKind::kInvalid,
                format("{} fields: not 1 to {}", counters.metrics.size(), kMostFields));
  }
  return counters;
}

void LiveValues::BeginLook(Set& set, SteadyTime now) {
  set.begun = now;
  set.missing.clear();
  for (const gpu::Gpu& gpu : gpus_.gpus) {
    if (!silent_.contains(gpu.uuid)) {
      set.missing.insert(gpu.uuid);
    }
  }
  if (set.missing.empty()) {
    set.taken = now;
    set.begun = std::nullopt;
  }
  // Also if none is waited for: one that was silent may give an answer.
  look_();
}

Result<std::optional<Sampler::Snapshot>> LiveValues::Take(const std::string& ids,
                                                          std::chrono::milliseconds age,
                                                          SteadyTime now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sets_, [now](const auto& entry) { return entry.second.asked + kKept < now; });
  auto found = sets_.find(ids);
  if (found == sets_.end()) {
    TRY_ASSIGN(Counters counters, CountersOfIds(ids));
    if (sets_.size() >= kMostSets) {
      return Fail(ErrorKind::kUnavailable,
                  format("{} other sets of fields are read now; try again in a minute", kMostSets));
    }
    auto sampler = std::make_shared<Sampler>(std::make_shared<const Counters>(std::move(counters)));
    sampler->SetGpus(gpus_);
    found = sets_.emplace(ids, Set{.sampler = std::move(sampler), .asked = now}).first;
  }
  Set& set = found->second;
  set.asked = now;
  if ((!set.taken || *set.taken + age < now) && (!set.begun || *set.begun + kLookLimit < now)) {
    BeginLook(set, now);
  }
  if (!set.taken || *set.taken + age < now) {
    return std::nullopt;
  }
  return set.sampler->Take();
}

void LiveValues::SetGpus(const gpu::GpuSet& set) {
  const std::lock_guard lock(mutex_);
  gpu::GpuSet named = set;
  gpu::NameFailed(gpus_, named);
  gpus_ = std::move(named);
  for (auto& [ids, one] : sets_) {
    one.sampler->SetGpus(set);
    std::erase_if(one.missing, [&set](const std::string& uuid) {
      return std::ranges::find(set.gpus, uuid, &gpu::Gpu::uuid) == set.gpus.end();
    });
  }
}

gpu::GpuSet LiveValues::gpus() {
  const std::lock_guard lock(mutex_);
  return gpus_;
}

void LiveValues::ForgetLibrary() {
  const std::lock_guard lock(mutex_);
  for (auto& [ids, one] : sets_) {
    one.sampler->ForgetLibrary();
  }
}

Status LiveValues::Sample(const std::shared_ptr<nvml::Library>& library, const std::string& uuid) {
  std::vector<std::shared_ptr<Sampler>> samplers;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [ids, set] : sets_) {
      if (set.missing.contains(uuid) || silent_.contains(uuid)) {
        samplers.push_back(set.sampler);
      }
    }
  }
  for (const auto& sampler : samplers) {
    TRY(sampler->Sample(library, uuid));
  }
  if (!samplers.empty()) {
    Got(uuid);
  }
  return {};
}

void LiveValues::Got(const std::string& uuid) {
  const std::lock_guard lock(mutex_);
  for (auto& [ids, set] : sets_) {
    if (set.missing.erase(uuid) != 0 && set.missing.empty()) {
      set.taken = RealClock().Now();
      set.begun = std::nullopt;
    }
  }
}

void LiveValues::Ended(const std::string& uuid, bool answered) {
  {
    const std::lock_guard lock(mutex_);
    if (answered) {
      silent_.erase(uuid);
      return;
    }
    silent_.insert(uuid);
    for (auto& [ids, set] : sets_) {
      set.sampler->Drop(uuid);
    }
  }
  Got(uuid);
}

}  // namespace gantry::metrics_exporter
