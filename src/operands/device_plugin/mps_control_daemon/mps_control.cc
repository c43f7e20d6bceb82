// SPDX-License-Identifier: Apache-2.0
// When does NVIDIA's MPS control daemon run, and for which GPUs? While the driver is ready and the
// node's configuration shares GPUs by MPS. It is restarted when it ends, and when the shared GPUs
// change; not for other changes of the configuration, because its clients end with it. The folders
// of a resource stay when it stops: running containers use them.
#include "operands/device_plugin/mps_control_daemon/mps_control.h"

#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/device_nodes.h"
#include "host/files.h"
#include "kube/backoff.h"
#include "operands/device_plugin/allocate.h"
#include "operands/device_plugin/config_files.h"
#include "operands/device_plugin/mps_control_daemon/mps_room.h"
#include "operands/device_plugin/mps_control_daemon/mps_shm.h"
#include "policy/names.h"

namespace gantry::device_plugin {
namespace {

namespace fs = std::filesystem;

// The pause after GPUs could not be read.
constexpr std::chrono::seconds kLookAgain{10};
// How long the daemon may take to answer, and the interval of checks.
constexpr std::chrono::seconds kComesUp{30};
constexpr std::chrono::milliseconds kAskAgain{500};
constexpr std::chrono::seconds kAnswers{10};
constexpr std::chrono::seconds kEnds{5};
constexpr char kReady[] = ".ready";
constexpr char kRecord[] = ".compute-modes";
// The SELinux type that containers may open.
constexpr char kContainerFile[] = "system_u:object_r:container_file_t:s0";

}  // namespace

MpsControl::MpsControl(Flags flags, host::Signals& signals, host::StatusFiles status_files,
                       host::Watcher watcher)
    : flags_(std::move(flags)),
      mps_root_(flags_.mps_root.value_or(kMpsRoot)),
      signals_(signals),
      status_files_(std::move(status_files)),
      watcher_(std::move(watcher)),
      gpus_(gpu::HostRoot(flags_.host_root), JoinPath(mps_root_, kRecord), signals.stop_fd()),
      own_node_({.name = flags_.node_name, .component = kPluginName}) {}

int MpsControl::Run() {
  if (auto started = Start(); !started) {
    log::Error("{}", started.error().message);
    return 1;
  }
  while (!stop_) {
    Evaluate();
    Wait();
  }
  StopDaemon();
  return 0;
}

Status MpsControl::Start() {
  TRY(watcher_.Add(status_files_.directory()));
  if (const auto path = agent::ConfigPathToWatch(flags_); !path.empty()) {
    TRY(watcher_.Add(path));
  }
  TRY(host::RemoveFile(JoinPath(mps_root_, kReady)));
  TRY_ASSIGN(const bool mounted, MountMpsShm(mps_root_));
  if (mounted) {
    log::Info("mounted {}", JoinPath(mps_root_, kMpsShm));
  }
  return {};
}

void MpsControl::Wait() {
  const std::array fds = {signals_.stop_fd(), signals_.reload_fd(), watcher_.fd(),
                          own_node_.label_fd(), running_ ? running_->program.end_fd() : -1};
  const auto ready = host::WaitReadable(fds, Deadline());
  stop_ = ready[0];
  if (ready[1] && signals_.TakeReload()) {
    config_changed_ = true;
    look_at_ = RealClock().Now();
  }
  if (ready[2]) {
    for (const auto& path : watcher_.Take()) {
      status_changed_ = status_changed_ || path == status_files_.directory();
      config_changed_ = config_changed_ || path == agent::ConfigPathToWatch(flags_);
      if (running_ && path == JoinPath(mps_root_, MpsPipe(running_->plan.resource))) {
        running_->ask_at = RealClock().Now();
      }
    }
  }
  if (ready[3]) {
    config_changed_ = label_.Take() || config_changed_;
  }
  if (ready[4]) {
    DaemonFailed("nvidia-cuda-mps-control has ended");
  }
}

void MpsControl::Evaluate() {
  if (!DriverIsReady() || !label_.IsKnown() || !ConfigIsKnown()) {
    return;
  }
  Look();
  Follow();
  AskDaemon();
}

bool MpsControl::DriverIsReady() {
  if (!std::exchange(status_changed_, false)) {
    return driver_ready_.has_value();
  }
  const std::vector<std::string> missing = flags_.Missing(status_files_);
  if (!missing.empty()) {
    if (!driver_ready_) {
      log::Info("waiting for {}", Join(missing, ", "));
    }
    return driver_ready_.has_value();
  }
  auto now = status_files_.Read(names::kDriverReady).value_or(host::StatusValues());
  if (driver_ready_ && *driver_ready_ != now) {
    log::Info("the driver has changed");
    StopDaemon();
    config_changed_ = true;
  }
  driver_ready_ = std::move(now);
  return true;
}

bool MpsControl::ConfigIsKnown() {
  if (!std::exchange(config_changed_, false)) {
    return settings_.has_value();
  }
  auto loaded = LoadConfig(flags_, label_.value());
  const Found found{.driver = RootsFrom(driver_ready_.value_or(host::StatusValues())), .modes = {}};
  auto settings = loaded ? Decide(flags_, loaded->config, found) : std::unexpected(loaded.error());
  if (!settings) {
    Complain(settings.error().message);
    return settings_.has_value();
  }
  settings_ = *std::move(settings);
  look_at_ = RealClock().Now();
  return true;
}

void MpsControl::Look() {
  if (!settings_ || !look_at_ || RealClock().Now() < *look_at_) {
    return;
  }
  look_at_.reset();
  if (settings_->sharing.strategy != policy::SharingStrategy::kMps) {
    wanted_.reset();
    log::Info("no GPU of this node is shared by MPS");
    return;
  }
  auto read = gpus_.Look(*settings_);
  if (!read) {
    Complain(read.error().message);
    look_at_ = RealClock().Now() + kLookAgain;
    return;
  }
  for (const auto& sentence : read->left_out) {
    if (std::ranges::find(left_out_, sentence) == left_out_.end()) {
      log::Warning("not shared: {}", sentence);
    }
  }
  left_out_ = std::move(read->left_out);
  wanted_ = std::move(read->plan);
}

void MpsControl::Follow() {
  if (running_ && running_->plan != wanted_) {
    StopDaemon();
    start_at_ = SteadyTime{};
    failures_ = 0;
  }
  if (settings_ && wanted_ && !running_ && start_at_ <= RealClock().Now()) {
    StartDaemon(*settings_, *wanted_);
  }
}

void MpsControl::StartDaemon(const Settings& settings, const MpsPlan& plan) {
  auto program = Launch(settings, plan);
  if (!program) {
    DaemonFailed(program.error().message);
    return;
  }
  const auto now = RealClock().Now();
  running_.emplace(Running{.plan = plan,
                           .driver = settings.driver,
                           .program = *std::move(program),
                           .give_up_at = now + kComesUp,
                           .ask_at = now + kAskAgain,
                           .started = std::nullopt});
}

Result<MpsProgram> MpsControl::Launch(const Settings& settings, const MpsPlan& plan) {
  const auto pipe = JoinPath(mps_root_, MpsPipe(plan.resource));
  TRY(host::MakeDirectories(pipe));
  // A killed daemon's socket would look like the new one's.
  TRY_ASSIGN(const auto left, ListDirectory(pipe));
  for (const auto& name : left) {
    TRY(host::RemoveFile(JoinPath(pipe, name)));
  }
  TRY(host::MakeDirectories(JoinPath(mps_root_, MpsLog(plan.resource))));
  if (access("/sys/fs/selinux", F_OK) == 0 &&
      setxattr(pipe.c_str(), "security.selinux", kContainerFile, sizeof(kContainerFile), 0) != 0) {
    return FailErrno("label " + pipe, errno);
  }
  TRY(watcher_.Add(pipe));
  TRY_ASSIGN(auto room,
             PlanMpsRoom(settings.driver.root_here, settings.driver.dev_root_here, mps_root_));
  TRY_ASSIGN(const auto open, gpus_.MakeExclusive(settings, plan));
  for (const auto& sentence : open) {
    log::Warning("{}", sentence);
  }
  return MpsProgram::Start(std::move(room), MpsEnvironment(plan));
}

void MpsControl::AskDaemon() {
  const auto now = RealClock().Now();
  if (!running_ || running_->started || now < running_->ask_at) {
    return;
  }
  auto& running = *running_;
  running.ask_at = now + kAskAgain;
  const auto answer = running.program.Ask("get_default_active_thread_percentage", kAnswers);
  if (!answer) {
    if (RealClock().Now() >= running.give_up_at) {
      DaemonFailed(answer.error().message);
    }
    return;
  }
  if (auto configured = Configure(running); !configured) {
    DaemonFailed(configured.error().message);
    return;
  }
  failures_ = 0;
  complaint_.clear();
  const auto& plan = running.plan;
  const auto message = format("MPS shares {} GPUs of {} among {} clients each", plan.gpus.size(),
                              plan.resource, plan.replicas);
  log::Info("{}", message);
  own_node_.Normal("MPSReady", message);
}

Status MpsControl::Configure(Running& running) {
  for (const auto& command : MpsCommands(running.plan)) {
    TRY(running.program.Ask(command, kAnswers));
  }
  TRY_ASSIGN(auto started, MpsStarted::Claim(FolderOf(running.plan)));
  running.started.emplace(std::move(started));
  return host::WriteFileAtomic(JoinPath(mps_root_, kReady), "");
}

void MpsControl::StopDaemon() {
  if (!running_) {
    return;
  }
  running_->started.reset();
  if (auto removed = host::RemoveFile(JoinPath(mps_root_, kReady)); !removed) {
    log::Warning("{}", removed.error().message);
  }
  if (auto quit = running_->program.Ask("quit", kAnswers); quit) {
    host::WaitReadable(std::array{running_->program.end_fd()}, RealClock().Now() + kEnds);
  }
  const auto driver = running_->driver;
  const auto logs = JoinPath(mps_root_, MpsLog(running_->plan.resource));
  running_.reset();
  std::error_code kept;
  fs::remove_all(logs, kept);
  if (auto restored = gpus_.Restore(driver); !restored) {
    log::Warning("GPUs stay closed to processes outside MPS: {}", restored.error().message);
  }
  log::Info("MPS has stopped");
}

void MpsControl::DaemonFailed(const std::string& reason) {
  if (running_) {
    running_->started.reset();
    running_.reset();
    [[maybe_unused]] const auto removed = host::RemoveFile(JoinPath(mps_root_, kReady));
  }
  const kube::Backoff backoff{.base = std::chrono::seconds(1), .limit = std::chrono::seconds(30)};
  start_at_ = RealClock().Now() + backoff.Delay(++failures_, kube::Random());
  Complain(format("MPS does not run: {}; it is started again", reason));
}

std::optional<SteadyTime> MpsControl::Deadline() const {
  std::optional<SteadyTime> first = look_at_;
  const auto add = [&first](SteadyTime at) { first = first ? std::min(*first, at) : at; };
  if (wanted_ && !running_) {
    add(start_at_);
  }
  if (running_ && !running_->started) {
    add(running_->ask_at);
  }
  return first;
}

std::string MpsControl::FolderOf(const MpsPlan& plan) const {
  return JoinPath(mps_root_, plan.resource);
}

void MpsControl::Complain(const std::string& message) {
  if (std::exchange(complaint_, message) == message) {
    return;
  }
  log::Error("{}", message);
  own_node_.Warning("MPSNotReady", message);
}

}  // namespace gantry::device_plugin
