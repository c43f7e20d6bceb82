// SPDX-License-Identifier: Apache-2.0
// When are a node's labels computed again? When the driver becomes ready or changes, when the
// configuration changes, on SIGHUP, and every --sleep-interval for facts without events. If the
// labels are the same, it sends no request to the API server. A failure (no driver yet, a wrong
// configuration, no API server) does not change the published labels.
#include "operands/gpu_features/gpu_features.h"

#include <algorithm>
#include <array>
#include <memory>

#include "agent/flags.h"
#include "agent/loop.h"
#include "agent/own_node.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/signals.h"
#include "host/status_files.h"
#include "host/watch.h"
#include "operands/gpu_features/devices.h"
#include "operands/gpu_features/gather.h"
#include "operands/gpu_features/labels.h"
#include "operands/gpu_features/publisher.h"
#include "operands/gpu_features/settings.h"
#include "policy/names.h"

namespace gantry::gpu_features {
namespace {

constexpr std::chrono::seconds kDriverAnswers(30);
constexpr std::chrono::seconds kApiServerAnswers(30);
// How long an invalid MIG layout may last before the node's labels show it.
constexpr std::chrono::seconds kInvalidLasts(30);
constexpr std::chrono::seconds kInvalidRecheck(3);

int64_t UnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(RealClock().Wall().time_since_epoch())
      .count();
}

class Discovery {
 public:
  Discovery(Flags flags, host::Signals& signals, host::Watcher watcher)
      : flags_(std::move(flags)),
        loop_({.failure = "labels stay as they are", .absence = log::Level::kInfo}, signals,
              std::move(watcher)),
        publisher_({.node = flags_.node_name,
                    .ns = flags_.ns,
                    .component = kProgram,
                    .kubeconfig = flags_.kubeconfig}),
        own_node_(
            {.name = flags_.node_name, .component = kProgram, .kubeconfig = flags_.kubeconfig}) {}

  int Run();

 private:
  Status Watch();
  void AwaitLabel();
  Result<Settings> LoadSettings();
  Result<Sources> FindSources(const Settings& settings);
  Status Look();
  Result<Facts> AskDriver(const Settings& settings);
  Status Store(const Settings& settings, const LabelMap& labels, const Facts& facts);
  Result<bool> Publish(Publication publication);
  void ShowBus(const Settings& settings);
  bool Passing(bool mig_unsettled);
  [[nodiscard]] SteadyTime NextLook() const;
  bool WaitsForDriver() const { return flags_.WaitsFor(names::kDriverReady); }

  const Flags flags_;
  agent::Loop loop_;
  agent::FeaturePublisher publisher_;
  Gatherer gatherer_;
  agent::OwnNode own_node_;
  const int64_t started_ = UnixSeconds();
  bool oneshot_ = IsOneshot(flags_, {});
  std::optional<Settings> settings_;   // the last valid ones
  std::optional<Publication> stored_;  // what was last stored or found stored
  std::optional<SteadyTime> invalid_since_;
  std::vector<std::string> warnings_;
};

Status Discovery::Watch() {
  if (WaitsForDriver()) {
    TRY(loop_.watcher().Add(JoinPath(flags_.status_dir, names::kDriverReady)));
  }
  if (const std::string path = agent::ConfigPathToWatch(flags_); !path.empty()) {
    TRY(loop_.watcher().Add(path));
  }
  if (!flags_.config_dir.empty() && !flags_.node_name.empty() && !flags_.node_label.empty()) {
    TRY(own_node_.WatchLabel(flags_.node_label));
  }
  return {};
}

// With --oneshot the look must wait for the label that selects its configuration.
void Discovery::AwaitLabel() {
  if (oneshot_ && own_node_.watches()) {
    const std::array<int, 2> descriptors = {loop_.stop_fd(), own_node_.label_fd()};
    host::WaitReadable(descriptors, RealClock().Now() + kApiServerAnswers);
  }
}

Result<Settings> Discovery::LoadSettings() {
  std::optional<std::string> label;
  if (own_node_.watches()) {
    TRY_ASSIGN(label, own_node_.TakeLabel());
  }
  TRY_ASSIGN(const std::string path, agent::ConfigPath(flags_, label));
  policy::PluginConfig config;
  if (!path.empty()) {
    TRY_ASSIGN(const std::string text, ReadFile(path));
    Result<policy::PluginConfig> parsed = policy::ParsePluginConfig(text);
    if (!parsed.has_value()) {
      return std::unexpected(parsed.error().In(path));
    }
    config = *std::move(parsed);
  }
  oneshot_ = IsOneshot(flags_, config);
  return Resolve(flags_, config);
}

Result<Sources> Discovery::FindSources(const Settings& settings) {
  Sources sources{.driver_root = "",
                  .dev_root = "",
                  .sys_root = flags_.sys_root,
                  .machine_type_file = settings.machine_type_file,
                  .host_root = flags_.host_root,
                  .vfio = settings.vfio,
                  .driver_may_be_missing = settings.oneshot && !settings.fail_on_init_error};
  host::StatusValues driver_ready;
  if (WaitsForDriver() && !settings.vfio) {
    TRY_ASSIGN(const auto files, host::StatusFiles::Open(flags_.status_dir));
    TRY_ASSIGN(driver_ready, files.Read(names::kDriverReady));
    sources.dev_root = driver_ready["DEV_ROOT_CTR_PATH"];
  }
  sources.driver_root = DriverRoot(settings, driver_ready);
  return sources;
}

Result<Facts> Discovery::AskDriver(const Settings& settings) {
  TRY_ASSIGN(const Sources sources, FindSources(settings));
  return gatherer_.Ask(sources, kDriverAnswers, loop_.stop_fd());
}

// True if something was written. Assumes that the last stored labels are still stored.
Result<bool> Discovery::Publish(Publication publication) {
  if (stored_ == publication && !loop_.VerifyIsDue()) {
    return false;
  }
  const auto publish = [&](kube::Client& client) {
    return gpu_features::Publish(publisher_, client, publication);
  };
  // With a watch, TLS is loaded anyway, and there is a second thread.
  TRY_ASSIGN(const bool written, own_node_.watches()
                                     ? publisher_.Connected(publish)
                                     : publisher_.ConnectedInChild(publish, loop_.stop_fd()));
  stored_ = std::move(publication);
  loop_.Verified();
  return written;
}

Status Discovery::Store(const Settings& settings, const LabelMap& labels, const Facts& facts) {
  TRY_ASSIGN(const bool written, settings.use_node_feature_api
                                     ? Publish({labels, DevicesOf(facts)})
                                     : PublishFile(settings.output_file, labels));
  if (written) {
    log::Info("labels published: {} ({} GPUs)", labels.size(),
              labels.contains(names::kGpuCount) ? labels.at(names::kGpuCount) : "0");
  }
  return {};
}

// The GPUs on the bus, before a driver has reported them.
void Discovery::ShowBus(const Settings& settings) {
  if (!settings.use_node_feature_api || (stored_.has_value() && stored_->labels.has_value())) {
    return;
  }
  Sources sources;
  sources.sys_root = flags_.sys_root;
  const Result<Facts> facts = GatherBus(sources);
  const Result<bool> told = facts.has_value() ? Publish({std::nullopt, DevicesOf(*facts)})
                                              : std::unexpected(facts.error());
  if (!told.has_value()) {
    log::Info("publish the GPUs on the bus: {}", told.error().message);
  }
}

Status Discovery::Look() {
  TRY_ASSIGN(settings_, LoadSettings());
  const Result<Facts> facts = AskDriver(*settings_);
  if (!facts.has_value()) {
    ShowBus(*settings_);
    return std::unexpected(facts.error());
  }
  Labelled labelled = GpuLabels(
      *facts,
      {.mig_strategy = settings_->mig_strategy,
       .sharing = settings_->sharing,
       .timestamp = settings_->timestamp ? std::optional<int64_t>(started_) : std::nullopt});
  if (labelled.warnings != warnings_) {
    for (const std::string& warning : labelled.warnings) {
      log::Warning("{}", warning);
    }
    warnings_ = std::move(labelled.warnings);
  }
  return Passing(labelled.mig_unsettled) ? Status() : Store(*settings_, labelled.labels, *facts);
}

// Whether the labels are of a moment during a MIG reconfiguration: then the published ones stay,
// unless it lasts.
bool Discovery::Passing(bool mig_unsettled) {
  if (!mig_unsettled || oneshot_) {
    invalid_since_.reset();
    return false;
  }
  const SteadyTime now = RealClock().Now();
  invalid_since_ = invalid_since_.value_or(now);
  return now - *invalid_since_ < kInvalidLasts;
}

// When to look again without an event.
SteadyTime Discovery::NextLook() const {
  const SteadyTime now = RealClock().Now();
  SteadyTime next = now + loop_.verify_after();
  if (settings_.has_value() && settings_->recheck.has_value()) {
    next = std::min(
        next, now + std::chrono::ceil<std::chrono::steady_clock::duration>(std::max(
                        *settings_->recheck, std::chrono::nanoseconds(std::chrono::seconds(1)))));
  }
  if (invalid_since_.has_value() && now - *invalid_since_ < kInvalidLasts) {
    next = std::min(next, now + kInvalidRecheck);
  }
  return next;
}

int Discovery::Run() {
  if (const Status watching = Watch(); !watching.has_value()) {
    log::Error("{}", watching.error().message);
    return 1;
  }
  AwaitLabel();
  return loop_.Run([this] { return Look(); }, [this](const Status&) { return NextLook(); },
                   {.fd = own_node_.label_fd()}, [this] { return oneshot_; });
}

int RunDiscovery(Flags flags) {
  host::Signals signals;
  Result<host::Watcher> watcher = host::Watcher::Create();
  if (!watcher.has_value()) {
    log::Error("{}", watcher.error().message);
    return 1;
  }
  return Discovery(std::move(flags), signals, *std::move(watcher)).Run();
}

}  // namespace

int RunGpuFeatureDiscovery(int argc, char** argv) {
  return agent::RunWith(kProgram, ParseFlags(argc, argv), RunDiscovery);
}

}  // namespace gantry::gpu_features
