// SPDX-License-Identifier: Apache-2.0
// What do the GPUs say now? Each is asked for all that the counters want of it, in one go.
#include "operands/metrics_exporter/sampler.h"

#include <nvml.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "host/pods_of_node.h"
#include "operands/metrics_exporter/label_sets.h"

namespace gantry::metrics_exporter {

struct Sampler::History {
  std::map<std::optional<unsigned>, Part> parts;  // by GPU instance
};

// A GPU, or one of its GPU instances, and what is wanted of it.
struct Sampler::Target {
  const Counters& counters;
  const gpu::Gpu& gpu;
  const gpu::GpuSet& set;
  std::string uuid;  // the handle that is asked
  std::optional<unsigned> gpu_instance;
  std::string profile;
  const NodeProcesses& node;
  Part& part;

  [[nodiscard]] bool Wants(const Field& field) const {
    return field.level == Level::kInstance ? gpu_instance.has_value() || !gpu.mig_enabled
                                           : !gpu_instance.has_value();
  }
  // The GPU, or all MIG devices of the GPU instance.
  [[nodiscard]] std::vector<std::string> Handles() const {
    std::vector<std::string> handles;
    for (const nvml::MigDevice& mig : gpu.mig_devices) {
      if (gpu_instance == mig.gpu_instance) {
        handles.push_back(mig.uuid);
      }
    }
    return handles.empty() ? std::vector<std::string>{uuid} : handles;
  }
  [[nodiscard]] std::vector<const Field*> Fields() const {
    std::vector<const Field*> fields;
    for (const auto* list : {&counters.metrics, &counters.labels}) {
      for (const Counter& counter : *list) {
        // A label is part of every series.
        const bool wanted = Wants(counter.field) || list == &counters.labels;
        fields.push_back(wanted ? &counter.field : nullptr);
      }
    }
    return fields;
  }
};

namespace {

// "1c.3g.40gb" -> "3g.40gb".
std::string GpuInstanceProfile(const std::string& profile) {
  const size_t dot = profile.find('.');
  return dot != std::string::npos && dot > 0 && profile[dot - 1] == 'c' ? profile.substr(dot + 1)
                                                                        : profile;
}

nvml::Value IdentityOf(unsigned what, const gpu::Gpu& gpu, const gpu::GpuSet& set,
                       const nvml::Library& library) {
  switch (what) {
    case kDriverVersion:
      return set.driver_version;
    case kNvmlVersion:
      return nvml::LibraryVersion(library).value_or("");
    case kGpuCount:
      return static_cast<double>(set.gpus.size());
    case kCudaVersion:
      return static_cast<double>(library.CudaVersion().value_or(0));
    case kName:
      return gpu.name;
    case kIndex:
      return static_cast<double>(gpu.index);
    case kUuid:
      return gpu.uuid;
    case kMinor:
      return static_cast<double>(gpu.minor);
    default:
      return NvmlBusId(gpu.pci_bus_id);
  }
}

using Fields = std::vector<const Field*>;
using Results = std::vector<std::optional<nvml::Value>>;

Status ReadNvml(const nvml::Library& library, const std::string& uuid, const Fields& fields,
                bool with_clocks, Results& values, std::optional<uint64_t>& reasons) {
  std::vector<nvml::Reading> readings;
  std::vector<size_t> places;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] != nullptr && fields[i]->from == From::kNvml) {
      readings.push_back(fields[i]->reading);
      places.push_back(i);
    }
  }
  if (with_clocks) {
    readings.push_back({.source = nvml::Source::kClocksEventReasons});
  }
  if (readings.empty()) {
    return {};
  }
  TRY_ASSIGN(const std::vector<nvml::Answer> answers, nvml::Read(library, uuid, readings));
  for (size_t i = 0; i < places.size(); ++i) {
    values[places[i]] = Convert(*fields[places[i]], answers[i]);
  }
  if (with_clocks && answers.back()) {
    reasons = static_cast<uint64_t>(std::get<double>(*answers.back()));
  }
  return {};
}

void ReadGpm(const std::shared_ptr<nvml::Library>& library, const std::string& uuid,
             std::optional<unsigned> gpu_instance, const Fields& fields,
             std::shared_ptr<nvml::Library>& kept_library, std::unique_ptr<nvml::GpmSample>& before,
             Results& values) {
  std::vector<unsigned> metrics;
  std::vector<size_t> places;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] != nullptr && fields[i]->from == From::kGpm) {
      metrics.push_back(fields[i]->reading.argument);
      places.push_back(i);
    }
  }
  if (metrics.empty()) {
    return;
  }
  auto now = nvml::GpmSample::Take(*library, uuid, gpu_instance);
  if (!now) {
    return;
  }
  // A sample of a library that was opened before means nothing to this one.
  if (before != nullptr && kept_library == library) {
    const std::vector<nvml::Answer> answers = (*now)->Since(*before, metrics);
    for (size_t i = 0; i < places.size(); ++i) {
      values[places[i]] = Convert(*fields[places[i]], answers[i]);
    }
  }
  before = *std::move(now);
  kept_library = library;
}

void ReadLinks(const nvml::Library& library, const std::string& uuid, const Fields& fields,
               std::map<std::pair<unsigned, unsigned>, LinkCounter>& before, Results& values) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] == nullptr || fields[i]->from != From::kLinkRate) {
      continue;
    }
    const auto& [source, way, link] = fields[i]->reading;
    std::vector<nvml::Reading> readings;
    if ((way & kSent) != 0) {
      readings.push_back({source, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, link});
    }
    if ((way & kReceived) != 0) {
      readings.push_back({source, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, link});
    }
    const auto answers = nvml::Read(library, uuid, readings);
    if (!answers ||
        !std::ranges::all_of(*answers, [](const auto& one) { return one.has_value(); })) {
      continue;
    }
    LinkCounter now{.kib = 0, .at = RealClock().Now()};
    for (const nvml::Answer& answer : *answers) {
      now.kib += std::get<double>(*answer);
    }
    const auto found = before.find({way, link});
    values[i] = LinkRate(found == before.end() ? std::nullopt : std::optional(found->second), now);
    before[{way, link}] = now;
  }
}

}  // namespace

Status Sampler::Measure(const std::shared_ptr<nvml::Library>& library, const Target& target,
                        OfGpu& to) {
  const Fields fields = target.Fields();
  Measured measured{.gpu_instance = target.gpu_instance, .profile = target.profile, .values = {}};
  measured.values.resize(fields.size());
  const bool with_clocks =
      !target.gpu_instance && std::ranges::any_of(target.counters.metrics, [](const auto& counter) {
        return counter.field.from == From::kClockCount || counter.field.from == From::kClockTotal;
      });
  TRY(ReadNvml(*library, target.uuid, fields, with_clocks, measured.values, to.reasons));
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] != nullptr && fields[i]->from == From::kIdentity) {
      measured.values[i] =
          IdentityOf(fields[i]->reading.argument, target.gpu, target.set, *library);
    }
  }
  ReadGpm(library, target.gpu.uuid, target.gpu_instance, fields, target.part.library,
          target.part.gpm, measured.values);
  ReadLinks(*library, target.uuid, fields, target.part.links, measured.values);
  if (!target.node.root.empty() && (target.gpu_instance || !target.gpu.mig_enabled)) {
    measured.uses = ReadUses(*library, target.Handles(), target.node, target.part.uses);
  }
  to.measured.parts.push_back(std::move(measured));
  return {};
}

Status Sampler::Sample(const std::shared_ptr<nvml::Library>& library, const std::string& uuid) {
  std::unique_lock lock(mutex_);
  const auto found = std::ranges::find(set_.gpus, uuid, &gpu::Gpu::uuid);
  if (found == set_.gpus.end()) {
    return {};
  }
  OfGpu now{.measured = {.gpu = *found, .parts = {}}, .reasons = {}};
  const gpu::GpuSet set = set_;
  const auto counters = next_ != nullptr ? next_ : counters_;
  auto& kept = history_[uuid];
  if (kept == nullptr) {
    kept = std::make_shared<History>();
  }
  const auto history = kept;
  lock.unlock();

  const gpu::Gpu& gpu = now.measured.gpu;
  const NodeProcesses node{
      .root = processes_root_,
      .running = processes_root_.empty() ? std::nullopt : host::RunningPods(processes_root_)};
  TRY(Measure(library,
              {.counters = *counters,
               .gpu = gpu,
               .set = set,
               .uuid = uuid,
               .gpu_instance = {},
               .profile = "",
               .node = node,
               .part = history->parts[std::nullopt]},
              now));
  std::optional<unsigned> last;
  for (const nvml::MigDevice& mig : gpu.mig_devices) {
    if (last == mig.gpu_instance) {
      continue;  // another compute instance of the same GPU instance
    }
    last = mig.gpu_instance;
    TRY(Measure(library,
                {.counters = *counters,
                 .gpu = gpu,
                 .set = set,
                 .uuid = mig.uuid,
                 .gpu_instance = mig.gpu_instance,
                 .profile = GpuInstanceProfile(mig.profile),
                 .node = node,
                 .part = history->parts[mig.gpu_instance]},
                now));
  }

  lock.lock();
  if (history_.contains(uuid)) {
    (counters == counters_ ? values_ : next_values_)[uuid] = std::move(now);
  }
  return {};
}

void Sampler::SetGpus(gpu::GpuSet set) {
  const std::lock_guard lock(mutex_);
  const auto gone = [&set](const auto& entry) {
    const auto now = std::ranges::find(set.gpus, entry.first, &gpu::Gpu::uuid);
    return now == set.gpus.end();
  };
  std::erase_if(values_, gone);
  std::erase_if(next_values_, gone);
  std::erase_if(history_, gone);
  set_ = std::move(set);
}

std::vector<gpu::Gpu> Sampler::gpus() const {
  const std::lock_guard lock(mutex_);
  return set_.gpus;
}

void Sampler::Drop(const std::string& uuid) {
  const std::lock_guard lock(mutex_);
  values_.erase(uuid);
  next_values_.erase(uuid);
}

void Sampler::DropAll() {
  const std::lock_guard lock(mutex_);
  values_.clear();
  next_values_.clear();
  history_.clear();
  set_ = {};
}

void Sampler::SetCounters(std::shared_ptr<const Counters> counters) {
  const std::lock_guard lock(mutex_);
  next_values_.clear();
  if (values_.empty()) {
    counters_ = std::move(counters);
    next_ = nullptr;
  } else {
    next_ = std::move(counters);
  }
}

void Sampler::Publish() {
  const std::lock_guard lock(mutex_);
  if (next_ != nullptr && !next_values_.empty()) {
    counters_ = std::exchange(next_, nullptr);
    values_ = std::exchange(next_values_, {});
  }
}

Sampler::Snapshot Sampler::Take() const {
  const std::lock_guard lock(mutex_);
  Snapshot snapshot{.counters = counters_, .gpus = {}};
  for (const auto& [uuid, one] : values_) {
    snapshot.gpus.push_back(one.measured);
  }
  std::ranges::sort(snapshot.gpus, {}, [](const MeasuredGpu& one) { return one.gpu.index; });
  return snapshot;
}

std::optional<uint64_t> Sampler::ClockReasons(const std::string& uuid) const {
  const std::lock_guard lock(mutex_);
  const auto& values = next_ != nullptr ? next_values_ : values_;
  const auto found = values.find(uuid);
  return found == values.end() ? std::nullopt : found->second.reasons;
}

}  // namespace gantry::metrics_exporter
