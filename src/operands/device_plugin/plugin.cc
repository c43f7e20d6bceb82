// SPDX-License-Identifier: Apache-2.0
// Which steps does a node need between a ready driver and pods with GPUs? This loop calls the
// decisions of the other files in order. Served devices stay served if their cause is in doubt (a
// removed status file, a configuration that became invalid): GPUs are taken out of service only
// after an observed failure.
#include "operands/device_plugin/plugin.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/device_nodes.h"
#include "kubelet/folders.h"
#include "operands/device_plugin/cdi_file.h"
#include "policy/names.h"

namespace gantry::device_plugin {

Plugin::Plugin(Flags flags, host::Signals& signals, host::StatusFiles status_files,
               host::Watcher watcher)
    : flags_(std::move(flags)),
      signals_(signals),
      status_files_(std::move(status_files)),
      watcher_(std::move(watcher)),
      owners_reader_(flags_.status_dir),
      condition_writer_(flags_.node_name),
      own_node_({.name = flags_.node_name, .component = kPluginName}) {}

int Plugin::Run() {
  if (auto started = Start(); !started) {
    log::Error("{}", started.error().message);
    return 1;
  }
  while (!exit_) {
    Evaluate();
    if (!exit_) {
      Wait();
    }
  }
  host_.reset();
  return *exit_;
}

Status Plugin::Start() {
  TRY(watcher_.Add(status_files_.directory()));
  TRY(watcher_.Add(owners_reader_.path()));
  TRY(watcher_.Add(CdiPath(flags_.cdi_dir)));
  if (const auto path = CdiPathOf(flags_.cdi_dir, flags_.cuda_cdi_device); !path.empty()) {
    TRY(watcher_.Add(path));
  }
  if (const auto path = agent::ConfigPathToWatch(flags_); !path.empty()) {
    TRY(watcher_.Add(path));
  }
  kubelet::PluginHost::Options options;
  options.on_event = [this](const kubelet::PluginEvent& event) { mailbox_.Post(event); };
  options.kubelet_socket = BaseName(flags_.kubelet_socket);
  if (!flags_.kubelet_socket.empty()) {
    places_ = LookForKubelet();
    place_ = ChoosePlace(places_);
    options.folder = place_.here;
    for (const KubeletPlace& other : places_) {
      if (other.here != place_.here) {
        TRY(watcher_.Add(other.here));
      }
    }
  }
  auto host = kubelet::PluginHost::Start(std::move(options));
  if (!host && places_.size() > 1) {
    return gantry::Fail(host.error().kind, NoKubelet(places_, BaseName(flags_.kubelet_socket)));
  }
  TRY_ASSIGN(host_, std::move(host));
  return {};
}

std::vector<KubeletPlace> Plugin::LookForKubelet() const {
  const std::string socket = BaseName(flags_.kubelet_socket);
  if (flags_.kubelet_host_root.empty()) {
    const std::string folder = ParentOf(flags_.kubelet_socket);
    return {LookAtPlace(folder, folder, socket)};
  }
  std::vector<KubeletPlace> places;
  for (std::string& folder : kubelet::DevicePluginFolders(flags_.kubelet_root)) {
    std::string here = ResolveInRoot(flags_.kubelet_host_root, folder)
                           .value_or(JoinPath(flags_.kubelet_host_root, folder));
    places.push_back(LookAtPlace(std::move(here), std::move(folder), socket));
  }
  return places;
}

// A kubelet that restarts with another root listens elsewhere.
void Plugin::FollowKubelet() {
  const std::string socket = BaseName(flags_.kubelet_socket);
  const auto places = LookForKubelet();
  const KubeletPlace& now = ChoosePlace(places);
  if (now.listens && now.here != place_.here &&
      !LookAtPlace(place_.here, place_.host, socket).listens) {
    Fail(format("the kubelet listens at {} now: starting anew", JoinPath(now.host, socket)));
  }
}

void Plugin::Wait() {
  const std::array fds = {signals_.stop_fd(), signals_.reload_fd(), watcher_.fd(), mailbox_.fd(),
                          own_node_.label_fd()};
  const auto ready = host::WaitReadable(fds, Deadline());
  if (ready[0]) {
    exit_ = 0;
    return;
  }
  if (ready[1] && signals_.TakeReload()) {
    config_changed_ = true;
    look_at_ = RealClock().Now();
  }
  if (ready[2]) {
    OnPaths(watcher_.Take());
  }
  if (ready[3]) {
    TakeMessages();
  }
  if (ready[4]) {
    config_changed_ = label_.Take() || config_changed_;
  }
}

void Plugin::Evaluate() {
  TakeOwners();
  if (DriverIsReady() && label_.IsKnown() && ConfigIsKnown()) {
    if (settings_ && settings_->tegra_only) {
      LookForTegra();
    } else if (settings_) {
      LookAtGpus(settings_->driver);
    }
    if (settings_ && set_) {
      Serve(*settings_, *set_);
    }
    ProbeIfDue();
  }
  TellOwners();
  if (monitor_) {
    monitor_->CheckOverdue();
  }
}

bool Plugin::DriverIsReady() {
  if (!std::exchange(status_changed_, false)) {
    return driver_ready_.has_value();
  }
  const std::vector<std::string> missing = flags_.Missing(status_files_);
  auto values = status_files_.Read(names::kDriverReady);
  if (!missing.empty()) {
    if (!driver_ready_) {
      log::Info("waiting for {}", Join(missing, ", "));
    }
    driver_was_gone_ = driver_was_gone_ || (!values && flags_.WaitsFor(names::kDriverReady));
    return driver_ready_.has_value();
  }
  const auto now = values.value_or(host::StatusValues());
  const bool changed = driver_ready_ && (now != *driver_ready_ || driver_was_gone_);
  driver_ready_ = now;
  driver_was_gone_ = false;
  if (changed) {
    // Another driver, or the same one reloaded: the open library belongs to the old one.
    log::Info("the driver has changed");
    monitor_.reset();
    config_changed_ = true;
  }
  return true;
}

bool Plugin::ConfigIsKnown() {
  if (!std::exchange(config_changed_, false)) {
    return settings_.has_value();
  }
  auto loaded = LoadConfig(flags_, label_.value());
  if (!loaded) {
    RejectConfig(loaded.error());
    return settings_.has_value();
  }
  auto settings = Decide(flags_, loaded->config, WhatTheNodeHas());
  if (!settings) {
    RejectConfig(settings.error().In("read configuration " + loaded->source));
    return settings_.has_value();
  }
  const bool same = config_ && config_->text == loaded->text && config_->source == loaded->source;
  if (!same || !config_error_.empty()) {
    const auto message = format("configuration {} is in force", loaded->source);
    log::Info("{}", message);
    for (const auto& warning : loaded->config.warnings) {
      log::Warning("configuration {}: {}", loaded->source, warning);
    }
    if (config_ || !config_error_.empty()) {
      Report(false, reasons::kDevicePluginConfigApplied, message);
    }
  }
  config_error_.clear();
  config_ = *std::move(loaded);
  settings_ = *std::move(settings);
  settings_->driver.dev_root_here = gpu::DevRootHere(settings_->driver.dev_root_here);
  health_.SetPolicy(gpu::MakeXidPolicy(settings_->xids, flags_.disable_health_checks,
                                       flags_.enable_health_checks));
  offer_changed_ = true;
  cdi_changed_ = true;
  return true;
}

Found Plugin::WhatTheNodeHas() const {
  Found found{.driver = RootsFrom(driver_ready_.value_or(host::StatusValues())), .modes = {}};
  if (flags_.WaitsFor(names::kDriverReady)) {
    const auto modules = host::LoadedModules(JoinPath(gpu::HostRoot(flags_.host_root), "proc"));
    found.modes = ModesOf(modules.value_or(std::vector<host::KernelModule>()));
  }
  return found;
}

void Plugin::RejectConfig(const Error& error) {
  if (error.message == config_error_) {
    return;
  }
  config_error_ = error.message;
  const auto message = format("{}; {}", error.message,
                              config_ ? format("configuration {} stays in force", config_->source)
                                      : std::string("no GPU is offered until it is right"));
  log::Error("{}", message);
  Report(true, reasons::kInvalidDevicePluginConfig, message);
}

void Plugin::LookForTegra() {
  if (look_at_ && RealClock().Now() < *look_at_) {
    return;
  }
  const auto root = gpu::HostRoot(flags_.host_root);
  const bool tegra =
      access(JoinPath(root, "etc/nv_tegra_release").c_str(), F_OK) == 0 ||
      Lower(ReadFile(JoinPath(root, "sys/devices/soc0/family")).value_or("")).starts_with("tegra");
  On(gpu::GpusMissing{
      {ErrorKind::kUnsupported,
       tegra ? "device-discovery-strategy tegra: GPUs of Tegra systems are not served"
             : "device-discovery-strategy tegra: this node is no Tegra system (it has no "
               "/etc/nv_tegra_release); auto and nvml look for other GPUs"}});
}

void Plugin::LookAtGpus(const DriverRoots& driver) {
  if (gpu::AnyExclusive(owners_)) {
    look_at_.reset();  // after that
    return;
  }
  const bool due = look_at_ && *look_at_ <= RealClock().Now();
  if (monitor_ && monitored_ == driver && !due) {
    return;
  }
  look_at_.reset();
  const std::string dev = JoinPath(driver.dev_root_here, "dev");
  gpu_nodes_ = gpu::GpuNodes(dev);
  if (driver.dev_root_here != "/") {
    auto made = gpu::MirrorDeviceNodes(dev, "/dev");
    if (!made) {
      log::Warning("{}", made.error().message);
    } else if (!made->empty()) {
      log::Info("device nodes made here: {}", Join({made->begin(), made->end()}, " "));
    }
  }
  if (!monitor_ || monitored_ != driver) {
    monitored_ = driver;
    // A GPU's node may come later than the driver; MIG devices are made and removed with theirs.
    for (const auto& folder : {dev, gpu::CapabilityNodes(driver.dev_root_here)}) {
      if (auto watched = watcher_.Add(folder, host::Watcher::For::kExistence); !watched) {
        log::Warning("{}", watched.error().message);
      }
    }
    monitor_ = std::make_unique<gpu::Monitor>(gpu::Monitor::Options{
        .driver_root = driver.root_here,
        .host_root = gpu::HostRoot(flags_.host_root),
        .tell = [this](gpu::Observation seen) {
          std::visit([this](auto& one) { mailbox_.Post(std::move(one)); }, seen);
        }});
  }
  const uint64_t look = monitor_->Look();
  if (std::exchange(look_for_owners_, false) || awaited_look_) {
    awaited_look_ = look;
  }
}

void Plugin::ProbeIfDue() {
  const auto now = RealClock().Now();
  const auto next = health_.NextProbe(probed_);
  if (!set_ || !monitor_ || !next || now < *next) {
    return;
  }
  probed_ = now;
  if (gpu::AnyExclusive(owners_)) {
    return;
  }
  std::vector<std::string> uuids;
  for (const auto& gpu : set_->gpus) {
    uuids.push_back(gpu.uuid);
  }
  monitor_->Probe(std::move(uuids));
}

std::optional<SteadyTime> Plugin::Deadline() const {
  std::optional<SteadyTime> first;
  for (const auto& at :
       {look_at_, serve_at_, monitor_ ? monitor_->overdue_at() : std::nullopt,
        set_ && monitor_ ? health_.NextProbe(probed_) : std::nullopt, OwnersDue()}) {
    if (at && (!first || *at < *first)) {
      first = at;
    }
  }
  return first;
}

void Plugin::Report(bool warning, const reasons::Reason& reason, const std::string& message) {
  if (warning) {
    own_node_.Warning(reason.code, message);
  } else {
    own_node_.Normal(reason.code, message);
  }
}

void Plugin::Fail(const std::string& message) {
  log::Error("{}", message);
  exit_ = 1;
}

}  // namespace gantry::device_plugin
