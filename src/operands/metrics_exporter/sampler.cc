// SPDX-License-Identifier: Apache-2.0
// What do the GPUs say now? Each is asked for all that the counters want of it, in one go.
#include "operands/metrics_exporter/sampler.h"

#include <nvml.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "operands/metrics_exporter/label_sets.h"

namespace gantry::metrics_exporter {

// A field, and how to read it of a target; nullptr: its value is not wanted.
struct WantedField {
  const Field* field = nullptr;
  nvml::Reading reading = {};
};

// A link that a GPU has.
struct SampledLink {
  unsigned number;
  bool up;
};

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
  std::optional<unsigned> compute_instance;
  std::string profile;
  std::vector<SampledLink> links;  // that have series of their own
  const NodeProcesses& node;
  Part& part;

  [[nodiscard]] bool Wants(const Field& field) const {
    if (field.level == Level::kLink) {
      return false;
    }
    return field.level == Level::kInstance ? gpu_instance.has_value() || !gpu.mig_enabled
                                           : !gpu_instance.has_value();
  }
  // The GPU, or all MIG devices of the GPU instance; `own` is that of `uuid`.
  [[nodiscard]] std::vector<nvml::FoundDevice> Handles(const nvml::Library& library,
                                                       const nvml::FoundDevice& own) const {
    std::vector<nvml::FoundDevice> handles = {own};
    for (const nvml::MigDevice& mig : gpu.mig_devices) {
      if (gpu_instance != mig.gpu_instance || mig.uuid == own.uuid) {
        continue;
      }
      if (auto other = nvml::Find(library, mig.uuid)) {
        handles.push_back(*std::move(other));
      }
    }
    return handles;
  }
  // By the counters' metrics and labels, and then, for each link, by the metrics.
  [[nodiscard]] std::vector<WantedField> WantedFields() const {
    std::vector<WantedField> fields;
    for (const auto* list : {&counters.metrics, &counters.labels}) {
      for (const Counter& counter : *list) {
        // A label is part of every series.
        const bool wanted = Wants(counter.field) || list == &counters.labels;
        fields.push_back(wanted ? WantedField{&counter.field, counter.field.reading}
                                : WantedField());
      }
    }
    for (const SampledLink& link : links) {
      for (const Counter& counter : counters.metrics) {
        const Field& field = counter.field;
        // Of a link that is down there is only its state.
        const bool is_state =
            field.from == From::kNvml && field.reading.argument == NVML_FI_DEV_NVLINK_GET_STATE;
        const bool wanted = field.level == Level::kLink && (link.up || is_state);
        fields.push_back(wanted
                             ? WantedField{&field, AtLink(field.from, field.reading, link.number)}
                             : WantedField());
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

constexpr double kBytesOfKib = 1024;
// A GPU without performance counters may get some: when its MIG mode changes.
constexpr std::chrono::seconds kGpmAskAgain(30);

using Fields = std::vector<WantedField>;

using Results = std::vector<std::optional<nvml::Value>>;

Status ReadNvml(const nvml::Library& library, const nvml::FoundDevice& handle, const Fields& fields,
                Results& values) {
  std::vector<nvml::Reading> readings;
  std::vector<size_t> places;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].field != nullptr && fields[i].field->from == From::kNvml) {
      readings.push_back(fields[i].reading);
      places.push_back(i);
    }
  }
  if (readings.empty()) {
    return {};
  }
  TRY_ASSIGN(const std::vector<nvml::Answer> answers, nvml::Read(library, handle, readings));
  for (size_t i = 0; i < places.size(); ++i) {
    values[places[i]] = Convert(*fields[places[i]].field, answers[i]);
  }
  return {};
}

// What of the performance counters is kept from one sample to the next.
struct GpmHistory {
  std::shared_ptr<nvml::Library>& library;
  std::unique_ptr<nvml::GpmSample>& before;
  SteadyTime& absent_until;
  bool& frozen;
};

// By GPM it did nothing: does the GPU itself say so too?
bool AreFrozen(const nvml::Library& library, const std::string& uuid, const nvml::Answer& graphics,
               bool& frozen) {
  const bool was_frozen = std::exchange(frozen, false);
  if (!graphics || std::get<double>(*graphics) != 0) {
    return false;
  }
  const std::array readings = {nvml::Reading{.source = nvml::Source::kUtilizationGpu}};
  const auto answers = nvml::Read(library, uuid, readings);
  frozen = answers && IsFrozen(graphics, answers->front());
  if (frozen && !was_frozen) {
    log::Warning("GPU {}: performance counters stand still while it is in use; taken anew", uuid);
  }
  return frozen;
}

void ReadGpm(const std::shared_ptr<nvml::Library>& library, const std::string& uuid,
             std::optional<unsigned> gpu_instance, const Fields& fields, GpmHistory history,
             Results& values) {
  std::vector<unsigned> metrics;
  std::vector<size_t> places;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].field != nullptr && fields[i].field->from == From::kGpm) {
      metrics.push_back(fields[i].reading.argument);
      places.push_back(i);
    }
  }
  const SteadyTime now_is = RealClock().Now();
  if (metrics.empty() || now_is < history.absent_until) {
    return;
  }
  metrics.push_back(NVML_GPM_METRIC_GRAPHICS_UTIL);
  auto now = nvml::GpmSample::Take(*library, uuid, gpu_instance);
  if (!now && now.error().kind == ErrorKind::kUnsupported) {
    history.absent_until = now_is + kGpmAskAgain;
  }
  // A sample of a library that was opened before, or from before a failure, means nothing to this
  // one.
  const auto before = std::exchange(history.before, nullptr);
  if (!now) {
    return;
  }
  if (before != nullptr && history.library == library) {
    const std::vector<nvml::Answer> answers = (*now)->Since(*before, metrics);
    if (!gpu_instance && AreFrozen(*library, uuid, answers.back(), history.frozen)) {
      return;
    }
    for (size_t i = 0; i < places.size(); ++i) {
      values[places[i]] = Convert(*fields[places[i]].field, answers[i]);
    }
  }
  history.before = *std::move(now);
  history.library = library;
}

// Counters of links, of all in one call.
void ReadLinks(const nvml::Library& library, const nvml::FoundDevice& handle, const Fields& fields,
               std::map<std::pair<unsigned, unsigned>, LinkCounter>& before, Results& values) {
  std::vector<nvml::Reading> readings;
  std::vector<std::pair<size_t, size_t>> places;  // of a field, and of its first reading
  for (size_t i = 0; i < fields.size(); ++i) {
    const Field* const field = fields[i].field;
    if (field == nullptr || (field->from != From::kLinkRate && field->from != From::kLinkBytes)) {
      continue;
    }
    const auto& [source, way, link] = fields[i].reading;
    places.emplace_back(i, readings.size());
    if ((way & kSent) != 0) {
      readings.push_back({source, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, link});
    }
    if ((way & kReceived) != 0) {
      readings.push_back({source, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, link});
    }
  }
  if (readings.empty()) {
    return;
  }
  const auto answers = nvml::Read(library, handle, readings);
  if (!answers) {
    return;
  }
  const SteadyTime at = RealClock().Now();
  for (size_t n = 0; n < places.size(); ++n) {
    const auto& [i, first] = places[n];
    const size_t end = n + 1 < places.size() ? places[n + 1].second : readings.size();
    const std::span all(answers->begin() + static_cast<std::ptrdiff_t>(first), end - first);
    if (!std::ranges::all_of(all, [](const auto& one) { return one.has_value(); })) {
      continue;
    }
    LinkCounter now{.kib = 0, .at = at};
    for (const nvml::Answer& answer : all) {
      now.kib += std::get<double>(*answer);
    }
    const Field& field = *fields[i].field;
    if (field.from == From::kLinkBytes) {
      values[i] = now.kib * kBytesOfKib * field.factor;
      continue;
    }
    const std::pair key(fields[i].reading.argument, fields[i].reading.scope);
    const auto found = before.find(key);
    values[i] = LinkRate(found == before.end() ? std::nullopt : std::optional(found->second), now);
    before[key] = now;
  }
}

// Those that have series of their own, if any counter asks for such.
Result<std::vector<SampledLink>> LinksOf(const nvml::Library& library, const std::string& uuid,
                                         const Counters& counters) {
  std::vector<SampledLink> links;
  if (std::ranges::none_of(counters.metrics, [](const Counter& counter) {
        return counter.field.level == Level::kLink;
      })) {
    return links;
  }
  std::vector<nvml::Reading> readings;
  readings.reserve(kLinks);
  for (unsigned link = 0; link < kLinks; ++link) {
    readings.push_back({nvml::Source::kFieldValue, NVML_FI_DEV_NVLINK_GET_STATE, link});
  }
  TRY_ASSIGN(const std::vector<nvml::Answer> answers, nvml::Read(library, uuid, readings));
  for (unsigned link = 0; link < kLinks; ++link) {
    if (const auto& answer = answers[link]) {
      links.push_back({.number = link, .up = std::get<double>(*answer) != 0});
    }
  }
  return links;
}

// The compute instance of a GPU instance that has only one.
std::optional<unsigned> OnlyComputeInstance(const gpu::Gpu& gpu, unsigned gpu_instance) {
  std::optional<unsigned> only;
  for (const nvml::MigDevice& mig : gpu.mig_devices) {
    if (mig.gpu_instance != gpu_instance) {
      continue;
    }
    if (only) {
      return std::nullopt;
    }
    only = mig.compute_instance;
  }
  return only;
}

}  // namespace

Status Sampler::Measure(const std::shared_ptr<nvml::Library>& library, const Target& target,
                        OfGpu& to) {
  const Fields fields = target.WantedFields();
  Results values(fields.size());
  TRY_ASSIGN(const nvml::FoundDevice handle, nvml::Find(*library, target.uuid));
  TRY(ReadNvml(*library, handle, fields, values));
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].field != nullptr && fields[i].field->from == From::kIdentity) {
      values[i] = IdentityOf(fields[i].reading.argument, target.gpu, target.set, *library);
    }
  }
  ReadGpm(
      library, target.gpu.uuid, target.gpu_instance, fields,
      {target.part.library, target.part.gpm, target.part.gpm_absent_until, target.part.gpm_frozen},
      values);
  ReadLinks(*library, handle, fields, target.part.links, values);
  const size_t metrics = target.counters.metrics.size();
  const auto labels = values.begin() + static_cast<std::ptrdiff_t>(metrics);
  const auto own_end = labels + static_cast<std::ptrdiff_t>(target.counters.labels.size());
  auto of_link = own_end;
  std::vector<Measured> links;
  for (const SampledLink& link : target.links) {
    const auto end = of_link + static_cast<std::ptrdiff_t>(metrics);
    Measured& one = links.emplace_back(Measured{.link = link.number, .values = {of_link, end}});
    one.values.insert(one.values.end(), labels, own_end);
    of_link = end;
  }
  Measured measured{.gpu_instance = target.gpu_instance,
                    .profile = target.profile,
                    .compute_instance = target.compute_instance,
                    .values = {values.begin(), own_end}};
  if (!target.node.root.empty() && (target.gpu_instance || !target.gpu.mig_enabled)) {
    measured.uses =
        ReadUses(*library, target.Handles(*library, handle), target.node, target.part.uses);
  }
  to.measured.parts.push_back(std::move(measured));
  std::ranges::move(links, std::back_inserter(to.measured.parts));
  return {};
}

Status Sampler::Sample(const std::shared_ptr<nvml::Library>& library, const std::string& uuid) {
  std::unique_lock lock(mutex_);
  const auto found = std::ranges::find(set_.gpus, uuid, &gpu::Gpu::uuid);
  const auto selected = found == set_.gpus.end() ? std::nullopt : Select(devices_, *found);
  if (!selected) {
    return {};
  }
  OfGpu now{.measured = {.gpu = selected->gpu, .parts = {}}, .facts = {}};
  const gpu::GpuSet set = set_;
  const auto counters = next_ != nullptr ? next_ : counters_;
  auto& kept = history_[uuid];
  if (kept == nullptr) {
    kept = std::make_shared<History>();
  }
  const auto history = kept;
  const NodeProcesses node = node_;
  FactsWanted facts = WantedBy(*counters);
  facts.health |= RealClock().Now() < health_until_;
  facts.marks |= facts.health;
  lock.unlock();

  const gpu::Gpu& gpu = now.measured.gpu;
  if (selected->own_series) {
    TRY_ASSIGN(now.facts, ReadFacts(*library, gpu, set.gpus, facts));
    TRY_ASSIGN(auto links, LinksOf(*library, uuid, *counters));
    TRY(Measure(library,
                {.counters = *counters,
                 .gpu = gpu,
                 .set = set,
                 .uuid = uuid,
                 .gpu_instance = {},
                 .compute_instance = {},
                 .profile = "",
                 .links = std::move(links),
                 .node = node,
                 .part = history->parts[std::nullopt]},
                now));
  }
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
                 .compute_instance = OnlyComputeInstance(gpu, mig.gpu_instance),
                 .profile = GpuInstanceProfile(mig.profile),
                 .links = {},
                 .node = node,
                 .part = history->parts[mig.gpu_instance]},
                now));
  }

  lock.lock();
  if (history_.contains(uuid)) {
    ++version_;
    (counters == counters_ ? values_ : next_values_)[uuid] = std::move(now);
  }
  return {};
}

void Sampler::WantHealth(SteadyTime until) {
  const std::lock_guard lock(mutex_);
  health_until_ = until;
}

void Sampler::SetRunning(std::optional<std::set<std::string>> pods) {
  const std::lock_guard lock(mutex_);
  node_.running = std::move(pods);
}

bool Sampler::SetGpus(gpu::GpuSet set) {
  const auto before = gpus();
  const std::lock_guard lock(mutex_);
  ++version_;
  gpu::NameFailed(set_, set);
  const auto gone = [&set](const auto& entry) {
    return std::ranges::find(set.gpus, entry.first, &gpu::Gpu::uuid) == set.gpus.end() &&
           std::ranges::find(set.failed, entry.first, &gpu::FailedGpu::uuid) == set.failed.end();
  };
  std::erase_if(values_, gone);
  std::erase_if(next_values_, gone);
  std::erase_if(history_, gone);
  for (const gpu::FailedGpu& failed : set.failed) {
    Blank(failed.uuid);
  }
  set_ = std::move(set);
  return SelectedGpus() != before;
}

std::vector<gpu::Gpu> Sampler::SelectedGpus() const {
  std::vector<gpu::Gpu> gpus;
  for (const gpu::Gpu& gpu : set_.gpus) {
    if (auto selected = Select(devices_, gpu)) {
      gpus.push_back(std::move(selected->gpu));
    }
  }
  return gpus;
}

std::vector<gpu::Gpu> Sampler::gpus() const {
  const std::lock_guard lock(mutex_);
  return SelectedGpus();
}

void Sampler::Drop(const std::string& uuid) {
  const std::lock_guard lock(mutex_);
  ++version_;
  Blank(uuid);
}

void Sampler::Blank(const std::string& uuid) {
  for (Values* const values : {&values_, &next_values_}) {
    const auto found = values->find(uuid);
    if (found == values->end()) {
      continue;
    }
    found->second.measured.lost = true;
    for (Measured& part : found->second.measured.parts) {
      std::ranges::fill(part.values, std::nullopt);
    }
  }
}

void Sampler::DropAll() {
  const std::lock_guard lock(mutex_);
  ++version_;
  values_.clear();
  next_values_.clear();
  history_.clear();
  set_ = {};
}

void Sampler::ForgetLibrary() {
  const std::lock_guard lock(mutex_);
  history_.clear();
}

void Sampler::SetCounters(std::shared_ptr<const Counters> counters) {
  const std::lock_guard lock(mutex_);
  ++version_;
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
  ++version_;
  if (next_ != nullptr && !next_values_.empty()) {
    counters_ = std::exchange(next_, nullptr);
    values_ = std::exchange(next_values_, {});
  }
}

bool Sampler::reloading() const {
  const std::lock_guard lock(mutex_);
  return next_ != nullptr;
}

uint64_t Sampler::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
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

std::optional<Facts> Sampler::FactsOf(const std::string& uuid) const {
  const std::lock_guard lock(mutex_);
  const auto& values = next_ != nullptr ? next_values_ : values_;
  const auto found = values.find(uuid);
  return found == values.end() ? std::nullopt : std::optional(found->second.facts);
}

}  // namespace gantry::metrics_exporter
