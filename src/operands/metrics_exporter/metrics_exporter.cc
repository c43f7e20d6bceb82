// SPDX-License-Identifier: Apache-2.0
// What do the GPUs of this node do, and who uses them? They are looked at every --collect-interval,
// outside of any scrape, so that a driver that hangs holds up no scrape. A GPU that does not answer
// loses its series; they come back with it.
#include "operands/metrics_exporter/metrics_exporter.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "base/metric_text.h"
#include "base/paths.h"
#include "base/process_metrics.h"
#include "base/text.h"
#include "gpu/device_nodes.h"
#include "gpu/monitor.h"
#include "gpu/owners_file.h"
#include "host/files.h"
#include "host/signals.h"
#include "host/status_files.h"
#include "host/watch.h"
#include "http/server.h"
#include "operands/metrics_exporter/document_nodes.h"
#include "operands/metrics_exporter/flags.h"
#include "operands/metrics_exporter/follow_pods.h"
#include "operands/metrics_exporter/live_values.h"
#include "operands/metrics_exporter/load_counters.h"
#include "operands/metrics_exporter/own_nodes.h"
#include "operands/metrics_exporter/pages.h"
#include "operands/metrics_exporter/sampler.h"
#include "operands/metrics_exporter/state_file.h"
#include "operands/metrics_exporter/tool_pages.h"
#include "operands/metrics_exporter/xid_watch.h"
#include "policy/names.h"

namespace gantry::metrics_exporter {
namespace {

// What a tool of this node waits for.
enum class ToolAsks { kValues, kHealth };

using Message = std::variant<gpu::Observation, PodsSeen, ToolAsks>;

// Between two tries to open NVML while there is no driver.
constexpr std::chrono::seconds kLookAgain(5);
// Device nodes of a driver that comes or goes appear and disappear one by one.
constexpr std::chrono::seconds kSettled(3);
// So long a text is good while nothing changes: events leave their windows by time alone.
constexpr std::chrono::seconds kPageLasts(1);
// What a tool may get that is so old: one look serves those that ask at once.
constexpr std::chrono::milliseconds kLiveAge(100);
// Health is looked at so long after a tool has asked, for what it tells by growth.
constexpr std::chrono::minutes kHealthKept(10);

bool Has(const std::vector<std::string>& all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

class Exporter {
 public:
  Exporter(Flags flags, host::Signals& signals, host::Watcher watcher, host::StatusFiles files,
           std::shared_ptr<const Counters> counters)
      : flags_(std::move(flags)),
        signals_(signals),
        watcher_(std::move(watcher)),
        files_(std::move(files)),
        owners_reader_(flags_.status_dir),
        sampler_(
            std::make_shared<Sampler>(std::move(counters), flags_.devices, ProcessesRoot(flags_))),
        live_(std::make_shared<LiveValues>([this] { mailbox_.Post(ToolAsks::kValues); })),
        document_(ManagementDocument(flags_.host_root)),
        events_(flags_.windows),
        state_(flags_.state_dir) {
    state_.Read(events_);
  }

  int Run();

 private:
  Status Watch();
  http::Response Serve(std::string_view path);
  void ServeTools();
  http::Response Tell(std::string_view path);
  http::Response TellHealth(SteadyTime now);
  std::shared_ptr<const http::SharedBody> Metrics();
  std::string MetricsNow(SteadyTime now);
  void Reload();
  void FollowDriver();
  void FollowOwners();
  void StartMonitor();
  [[nodiscard]] std::string OfDriver(const std::string& key) const;
  void Look();
  void CheckNodes();
  void NodesUnknown(const std::string& why);
  void Sample();
  void Take(gpu::Observation& seen);
  void Take(PodsSeen& seen);
  void Take(ToolAsks asks);
  void On(gpu::GpusFound& found);
  void On(gpu::GpusMissing& missing);
  void On(gpu::DriverClosed& closed);
  void On(gpu::GpusChanged& changed);
  void On(gpu::WaitFailed& failed);
  void On(gpu::XidEvent& event);
  void Count(const std::vector<SourcedXid>& xids);
  void On(gpu::Probed& probed);
  void MapPods();
  [[nodiscard]] SteadyTime Deadline() const;

  const Flags flags_;
  host::Signals& signals_;
  host::Watcher watcher_;
  const host::StatusFiles files_;
  gpu::OwnersReader owners_reader_;
  const std::shared_ptr<Sampler> sampler_;
  const std::shared_ptr<LiveValues> live_;
  // Whether the look that is under way is for the counters; tools ask more often.
  const std::shared_ptr<std::atomic<bool>> for_counters_ = std::make_shared<std::atomic<bool>>();
  const std::string document_;  // of the device nodes that a container is given
  Mailbox<Message> mailbox_;

  std::mutex mutex_;  // of what a scrape reads
  EventLog events_;
  Users users_;
  size_t dropped_ = 0;
  std::optional<SteadyTime> health_at_;  // the last look at it that a tool has asked for
  bool health_wanted_ = false;           // such a look is under way
  bool looked_again_ = false;            // for it
  std::atomic<uint64_t> changes_ = 0;    // of the events and users

  struct RenderedPage {
    std::shared_ptr<const http::SharedBody> body = {};
    uint64_t version = 0;  // of what it was made of
    SteadyTime at{};
  };
  RenderedPage page_;  // of the server's thread

  host::StatusValues driver_;  // as the validator says
  bool driver_ready_ = false;
  std::unique_ptr<gpu::Monitor> monitor_;
  bool keeps_off_ = false;  // another program needs a GPU that is open nowhere else
  std::unique_ptr<PodFollower> follower_;
  std::unique_ptr<http::Server> tools_;
  XidWatch xids_;
  StateFile state_;
  PodsSeen pods_;
  std::vector<std::string> unwell_;  // GPUs that did not answer the last time
  SteadyTime sample_at_{};
  bool devices_checked_ = false;
  bool failed_ = false;                       // the program ends with an error
  std::optional<SteadyTime> outdated_since_;  // a new container would get other device nodes
  bool outdated_ = false;                     // and the program ends for it
  std::string nodes_unknown_;                 // why that can't be known, as last logged
  std::string missing_;                       // why NVML can't be had, as last logged
  std::string wait_error_;                    // as last logged
};

Status Exporter::Watch() {
  if (flags_.WaitsFor(names::kDriverReady)) {
    TRY(watcher_.Add(JoinPath(flags_.status_dir, names::kDriverReady)));
  }
  if (flags_.config_map.empty()) {
    // The folder: a ConfigMap's files are exchanged by a link beside them.
    TRY(watcher_.Add(ParentOf(flags_.collectors)));
  }
  if (!xids_.file().empty()) {
    TRY(watcher_.Add(xids_.file()));
  }
  TRY(watcher_.Add(owners_reader_.path()));
  // It names other nodes when a GPU comes.
  return watcher_.Add(document_);
}

http::Response Exporter::Serve(std::string_view path) {
  return path == "/metrics" ? MetricsPage(Metrics()) : Page(path, sampler_->reloading());
}

// For whoever may be root on the node, and no other.
void Exporter::ServeTools() {
  if (flags_.state_dir.empty()) {
    return;
  }
  const auto made = host::MakeDirectories(flags_.state_dir);
  auto server =
      made ? http::Server::Start("unix:" + JoinPath(flags_.state_dir, names::kExporterSocket),
                                 [this](std::string_view path) { return Tell(path); })
           : std::unexpected(made.error());
  if (server) {
    tools_ = *std::move(server);
  } else {
    log::Warning("dcgmi does not reach this exporter: {}", server.error().message);
  }
}

// 202: not yet; the tool asks again.
http::Response Exporter::Tell(std::string_view path) {
  constexpr std::string_view kValues = "/values/";
  const SteadyTime now = RealClock().Now();
  if (path == "/devices") {
    return {.status = 200, .body = DevicesJson(live_->gpus().gpus).dump()};
  }
  if (path == "/health") {
    return TellHealth(now);
  }
  if (!path.starts_with(kValues)) {
    return {.status = 404, .body = "not found\n"};
  }
  const auto values = live_->Take(std::string(path.substr(kValues.size())), kLiveAge, now);
  if (!values) {
    return {.status = 400, .body = values.error().message};
  }
  const std::optional<Sampler::Snapshot>& taken = *values;
  if (!taken) {
    return {.status = 202, .body = ""};
  }
  const std::lock_guard lock(mutex_);
  return {.status = 200, .body = ValuesJson(*taken->counters, taken->gpus, events_, now).dump()};
}

http::Response Exporter::TellHealth(SteadyTime now) {
  const std::lock_guard lock(mutex_);
  if (health_at_ && *health_at_ + kPageLasts >= now) {
    return {.status = 200,
            .body = HealthJson(sampler_->Take().gpus, live_->gpus().failed, events_, now).dump()};
  }
  if (!std::exchange(health_wanted_, true)) {
    mailbox_.Post(ToolAsks::kHealth);
  }
  return {.status = 202, .body = ""};
}

// Scrapers that come together get one text.
std::shared_ptr<const http::SharedBody> Exporter::Metrics() {
  const SteadyTime now = RealClock().Now();
  const uint64_t version = sampler_->version() + changes_;
  if (page_.body == nullptr || page_.version != version || now >= page_.at + kPageLasts) {
    page_.body.reset();
    page_ = {.body = std::make_shared<const http::SharedBody>(MetricsNow(now)),
             .version = version,
             .at = now};
  }
  return page_.body;
}

std::string Exporter::MetricsNow(SteadyTime now) {
  const Sampler::Snapshot snapshot = sampler_->Take();
  const std::lock_guard lock(mutex_);
  Printed printed =
      MetricsText(*snapshot.counters, snapshot.gpus, events_, users_, flags_.labelling, now);
  dropped_ += printed.dropped;
  if (flags_.process_metrics) {
    constexpr std::string_view kDropped = "dcgm_exporter_dropped_samples_total";
    printed.text += MetricHeading(kDropped, "counter", "Samples that Prometheus would refuse.") +
                    format("{} {}\n", kDropped, dropped_);
    constexpr std::string_view kCalls = "dcgm_exporter_nvml_calls_total";
    printed.text += MetricHeading(kCalls, "counter", "Calls into the driver's library.") +
                    format("{} {}\n", kCalls, nvml::CallsMade());
    printed.text += FormatProcessMetrics();
  }
  return std::move(printed.text);
}

// Counters that can't be read change nothing.
void Exporter::Reload() {
  auto counters = LoadCounters(flags_);
  if (!counters) {
    log::Error("{}; the counters stay as they are", counters.error().message);
    return;
  }
  sampler_->SetCounters(*std::move(counters));
  sample_at_ = RealClock().Now();
}

void Exporter::FollowDriver() {
  const auto values = flags_.WaitsFor(names::kDriverReady)
                          ? files_.Read(names::kDriverReady)
                          : Result<host::StatusValues>(host::StatusValues());
  if (!values) {
    if (driver_ready_ || monitor_ == nullptr) {
      log::Info("waiting for {}", names::kDriverReady);
    }
    driver_ready_ = false;
    return;
  }
  if (monitor_ == nullptr || !driver_ready_ || *values != driver_) {
    driver_ = *values;
    driver_ready_ = true;
    StartMonitor();
  }
}

// Values stay as they are while the driver is closed here: it takes a second or two.
void Exporter::FollowOwners() {
  const auto taken = owners_reader_.Take();
  if (!taken) {
    log::Warning("{}; metrics are read as before", taken.error().message);
    return;
  }
  const std::optional<gpu::Owners>& owners = *taken;
  if (!owners.has_value()) {
    return;
  }
  const bool kept_off = std::exchange(keeps_off_, gpu::AnyExclusive(*owners));
  if (keeps_off_ && monitor_ != nullptr) {
    monitor_->CloseDriver();
    return;
  }
  owners_reader_.CarriedOut();
  if (kept_off && monitor_ != nullptr) {
    Look();
  }
}

// Anew for each driver: the library that is open belongs to the one before.
void Exporter::StartMonitor() {
  monitor_.reset();
  sampler_->DropAll();
  live_->SetGpus({});
  const std::string dev_root = gpu::DevRootHere(OfDriver("DEV_ROOT_CTR_PATH"));
  if (auto watched = watcher_.Add(gpu::CapabilityNodes(dev_root), host::Watcher::For::kExistence);
      !watched) {
    log::Warning("{}", watched.error().message);
  }
  monitor_ = std::make_unique<gpu::Monitor>(gpu::Monitor::Options{
      .driver_root =
          flags_.driver_root.empty() ? OfDriver("DRIVER_ROOT_CTR_PATH") : flags_.driver_root,
      .host_root = gpu::HostRoot(flags_.host_root),
      .tell = [this](gpu::Observation seen) { mailbox_.Post(std::move(seen)); },
      .ask =
          [sampler = sampler_, live = live_, for_counters = for_counters_](const auto& library,
                                                                           const auto& uuid) {
            const Status sampled = *for_counters ? sampler->Sample(library, uuid) : Status();
            const Status told = live->Sample(library, uuid);
            return sampled ? told : sampled;
          },
      .forget =
          [sampler = sampler_, live = live_] {
            sampler->ForgetLibrary();
            live->ForgetLibrary();
          }});
  Look();
  sample_at_ = RealClock().Now() + flags_.interval;
}

// Empty: the validator does not say it.
std::string Exporter::OfDriver(const std::string& key) const {
  const auto found = driver_.find(key);
  return found == driver_.end() ? "" : found->second;
}

void Exporter::Look() {
  if (keeps_off_) {
    return;
  }
  const std::string named = OfDriver("DEV_ROOT_CTR_PATH");
  const std::string dev_root = gpu::DevRootHere(named);
  const auto made = dev_root == "/" ? Result<std::set<std::string>>()
                                    : gpu::MirrorDeviceNodes(JoinPath(dev_root, "dev"), "/dev");
  if (!made && made.error().kind == ErrorKind::kDenied) {
    CheckNodes();
  } else {
    outdated_since_.reset();
  }
  if (dev_root == "/" && !named.empty() && named != "/") {
    NodesUnknown(format("{} is not mounted here", JoinPath(named, "dev")));
  } else if (!made && made.error().kind != ErrorKind::kDenied) {
    log::Warning("{}", made.error().message);
  }
  monitor_->Look();
}

// An unprivileged container has the device nodes of its start. The kubelet starts it again, but not
// while a driver comes or goes: it could not start without one.
void Exporter::CheckNodes() {
  const auto nodes = NodesInDocument(document_, flags_.host_root);
  NodesUnknown(nodes ? "" : nodes.error().message);
  const std::string outdated = nodes && driver_ready_ ? OutdatedNode(*nodes) : "";
  const SteadyTime now = RealClock().Now();
  if (outdated.empty()) {
    outdated_since_.reset();
  } else if (!outdated_since_) {
    outdated_since_ = now;
  } else if (now >= *outdated_since_ + kSettled) {
    log::Info("the container ends, and gets {} at its next start", outdated);
    outdated_ = true;
  }
}

void Exporter::NodesUnknown(const std::string& why) {
  if (why != nodes_unknown_ && !why.empty()) {
    log::Warning("device nodes that come later are not noticed: {}", why);
  }
  nodes_unknown_ = why;
}

void Exporter::Sample() {
  sample_at_ = RealClock().Now() + flags_.interval;
  if (monitor_ == nullptr || keeps_off_) {
    return;
  }
  std::vector<std::string> uuids;
  for (const gpu::Gpu& gpu : sampler_->gpus()) {
    uuids.push_back(gpu.uuid);
  }
  if (uuids.empty() || !unwell_.empty()) {
    Look();
  }
  if (!uuids.empty()) {
    *for_counters_ = true;
    monitor_->Probe(std::move(uuids));
  }
}

void Exporter::Take(ToolAsks asks) {
  if (asks == ToolAsks::kHealth) {
    const SteadyTime now = RealClock().Now();
    sampler_->WantHealth(now + kHealthKept);
    looked_again_ = false;
    if (sampler_->gpus().empty()) {
      const std::lock_guard lock(mutex_);
      health_at_ = now;
      health_wanted_ = false;
    }
    Sample();
    return;
  }
  if (monitor_ == nullptr || keeps_off_) {
    return;
  }
  const gpu::GpuSet set = live_->gpus();
  std::vector<std::string> uuids;
  uuids.reserve(set.gpus.size());
  for (const gpu::Gpu& gpu : set.gpus) {
    uuids.push_back(gpu.uuid);
  }
  monitor_->Probe(std::move(uuids));
}

void Exporter::Take(gpu::Observation& seen) {
  std::visit([this](auto& one) { On(one); }, seen);
}

void Exporter::On(gpu::GpusFound& found) {
  missing_.clear();
  for (const auto& failed : found.set.failed) {
    if (!Has(unwell_, failed.uuid)) {
      log::Warning("GPU {} can't be read: {}", failed.index, failed.reason);
      unwell_.push_back(failed.uuid);
    }
  }
  // Later a GPU may be gone for a while.
  if (const Status present = CheckPresent(flags_.devices, found.set);
      !present && !devices_checked_) {
    log::Error("{}", present.error().message);
    failed_ = true;
  }
  devices_checked_ = true;
  const std::string news =
      format("{} GPUs, driver {}", found.set.gpus.size(), found.set.driver_version);
  xids_.Know(found.set.gpus);
  live_->SetGpus(found.set);
  const bool changed = sampler_->SetGpus(std::move(found.set));
  MapPods();
  if (changed) {
    log::Info("{}", news);
    sample_at_ = RealClock().Now();
  }
}

void Exporter::On(gpu::GpusMissing& missing) {
  if (missing.error.message != missing_) {
    missing_ = missing.error.message;
    log::Info("no GPUs: {}", missing_);
  }
  sampler_->SetGpus({});
  live_->SetGpus({});
  sample_at_ = std::min(sample_at_, RealClock().Now() + kLookAgain);
}

void Exporter::On(gpu::DriverClosed& /*closed*/) { owners_reader_.CarriedOut(); }

void Exporter::On(gpu::GpusChanged& /*changed*/) { Look(); }

void Exporter::On(gpu::WaitFailed& failed) {
  if (failed.error.message != wait_error_) {
    wait_error_ = failed.error.message;
    log::Warning("{}", wait_error_);
  }
}

void Exporter::On(gpu::XidEvent& event) { Count(xids_.FromDriver(event, RealClock().Now())); }

// No scrape sees what is not in the file yet: a counter that was served never goes back.
void Exporter::Count(const std::vector<SourcedXid>& xids) {
  const std::lock_guard lock(mutex_);
  for (const SourcedXid& xid : xids) {
    log::Warning("XID {} on GPU {}: {}", xid.xid, xid.uuid, XidText(xid.xid));
    events_.AddXid(xid.uuid, xid.xid, xid.gpu_instance, RealClock().Now());
    ++changes_;
  }
  state_.Write(events_);
}

void Exporter::On(gpu::Probed& probed) {
  const SteadyTime now = RealClock().Now();
  const bool for_counters = for_counters_->exchange(false);
  bool no_health = false;  // of a GPU that gave an answer
  std::unique_lock lock(mutex_);
  for (const auto& [uuid, status] : probed.answers) {
    const bool was_unwell = std::erase(unwell_, uuid) != 0;
    live_->Ended(uuid, status.has_value());
    if (status) {
      if (was_unwell) {
        log::Info("GPU {} answers again", uuid);
      }
      if (const auto facts = for_counters ? sampler_->FactsOf(uuid) : std::nullopt) {
        ++changes_;
        no_health |= !facts->health.has_value();
        if (events_.Look(uuid, *facts, now)) {
          log::Info("GPU {} was reset", uuid);
        }
      }
      continue;
    }
    if (!was_unwell) {
      log::Warning("GPU {} has no metrics: {}", uuid, status.error().message);
    }
    sampler_->Drop(uuid);
    unwell_.push_back(uuid);
    if (!was_unwell && status.error().kind == ErrorKind::kNotFound) {
      Look();  // a MIG device is gone, or all of the GPU
    }
  }
  if (!for_counters) {
    return;
  }
  state_.Write(events_);
  // A look may have begun before a tool asked for health. GPUs that are not selected have none.
  if (health_wanted_ && (!no_health || std::exchange(looked_again_, true))) {
    health_wanted_ = false;
    health_at_ = now;
  } else if (health_wanted_) {
    sample_at_ = now;
  }
  lock.unlock();
  sampler_->Publish();
}

void Exporter::Take(PodsSeen& seen) {
  pods_ = std::move(seen);
  sampler_->SetRunning(pods_.node.running);
  MapPods();
}

void Exporter::MapPods() {
  Users users{.holders = HoldersNow(pods_, sampler_->gpus(), flags_.pods), .jobs = pods_.jobs};
  const std::lock_guard lock(mutex_);
  users_ = std::move(users);
  ++changes_;
}

SteadyTime Exporter::Deadline() const {
  const auto overdue = monitor_ != nullptr ? monitor_->overdue_at() : std::nullopt;
  const SteadyTime settled = outdated_since_ ? *outdated_since_ + kSettled : sample_at_;
  return std::min(
      {sample_at_, settled, overdue.value_or(sample_at_), xids_.due_at().value_or(sample_at_)});
}

int Exporter::Run() {
  if (const Status watching = Watch(); !watching) {
    log::Error("{}", watching.error().message);
    return 1;
  }
  const auto server = http::Server::Start(
      flags_.address, [this](std::string_view path) { return Serve(path); }, flags_.web);
  if (!server) {
    log::Error("serve metrics: {}", server.error().message);
    return 1;
  }
  log::Info("serving metrics of node {} on port {}", flags_.labelling.node, (*server)->port());
  ServeTools();
  follower_ = FollowPods(flags_, [this](PodsSeen seen) { mailbox_.Post(std::move(seen)); });
  FollowOwners();
  FollowDriver();
  while (!failed_ && !outdated_) {
    const SteadyTime now = RealClock().Now();
    if (now >= sample_at_) {
      Sample();
    }
    if (outdated_since_ && now >= *outdated_since_ + kSettled) {
      Look();
    }
    if (monitor_ != nullptr) {
      monitor_->CheckOverdue();
    }
    const std::array<int, 5> descriptors = {signals_.stop_fd(), signals_.reload_fd(), watcher_.fd(),
                                            mailbox_.fd(), xids_.fd()};
    const std::vector<bool> ready = host::WaitReadable(descriptors, Deadline());
    if (ready[0]) {
      break;
    }
    for (auto& message : mailbox_.Take()) {
      std::visit([this](auto& one) { Take(one); }, message);
    }
    Count(xids_.FromLog(RealClock().Now()));
    const std::vector<std::string> changed =
        ready[2] ? watcher_.Take() : std::vector<std::string>();
    const bool file = flags_.config_map.empty() && Has(changed, ParentOf(flags_.collectors));
    if ((ready[1] && signals_.TakeReload()) || file) {
      Reload();
    }
    if (!changed.empty()) {
      FollowOwners();
      FollowDriver();
    }
    if (monitor_ != nullptr && std::ranges::any_of(changed, [this](const std::string& path) {
          return path.ends_with("nvidia-caps") || path == document_;
        })) {
      Look();
    }
  }
  // Nothing is told from here on, and no scrape is under way.
  tools_.reset();
  follower_.reset();
  monitor_.reset();
  return failed_ ? 1 : 0;
}

// What the command line asks for is said once, and done.
int RunExporter(Flags flags) {
  if (flags.list_fields) {
    for (const Field& field : AllFields()) {
      std::cout << field.name << (field.other.empty() ? "" : " ") << field.other << "\n";
    }
    return 0;
  }
  if (flags.debug) {
    log::SetLevel(log::Level::kDebug);
  }
  if (flags.labelling.node.empty()) {
    flags.labelling.node = HostName();
  }
  if (!flags.no_effect.empty()) {
    log::Info("no effect without DCGM: {}", Join(flags.no_effect, " "));
  }
  if (!flags.not_yet.empty()) {
    log::Warning("not supported, ignored: {}", Join(flags.not_yet, " "));
  }
  host::Signals signals;
  auto counters = LoadCounters(flags);
  if (!counters) {
    log::Error("{}", counters.error().message);
    return 1;
  }
  Result<host::Watcher> watcher = host::Watcher::Create();
  Result<host::StatusFiles> files = host::StatusFiles::Open(flags.status_dir);
  if (!watcher || !files) {
    log::Error("{}", (!watcher ? watcher.error() : files.error()).message);
    return 1;
  }
  return Exporter(std::move(flags), signals, *std::move(watcher), *std::move(files),
                  *std::move(counters))
      .Run();
}

}  // namespace

int RunMetricsExporter(int argc, char** argv) {
  return agent::RunWith(kProgram, ParseFlags(argc, argv), RunExporter);
}

}  // namespace gantry::metrics_exporter
