// SPDX-License-Identifier: Apache-2.0
// How does the container toolkit keep a node configured? It waits for a driver, then keeps the host
// as desired_files.h and runtime_setup.h decide. It sleeps until a relevant file changes.
#include "operands/container_toolkit/container_toolkit.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <set>

#include "agent/flags.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/nvidia_cdi.h"
#include "gpu/device_nodes.h"
#include "host/driver_root.h"
#include "host/files.h"
#include "host/journal.h"
#include "host/signals.h"
#include "host/status_files.h"
#include "host/watch.h"
#include "operands/container_toolkit/desired_files.h"
#include "operands/container_toolkit/device_nodes.h"
#include "operands/container_toolkit/driver_choice.h"
#include "operands/container_toolkit/flags.h"
#include "operands/container_toolkit/inventory.h"
#include "operands/container_toolkit/nri_plugin.h"
#include "operands/container_toolkit/pid_file.h"
#include "operands/container_toolkit/repair_pace.h"
#include "operands/container_toolkit/runtime_setup.h"
#include "policy/names.h"

namespace gantry::container_toolkit {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr char kRuntimeFile[] = "gantry-runtime";
constexpr char kCtkFile[] = "gantry-ctk";
constexpr char kOwner[] = "nvidia-container-toolkit";
// Without a free inotify instance the host is checked at this interval, and the watch retried.
constexpr seconds kLookAgain(60);
// An engine that reloads its files without a new socket is asked at this interval.
constexpr seconds kPendingAgain(60);

container::DriverPlace PlaceOf(const Flags& flags, const host::DriverVerdict& verdict) {
  container::DriverPlace place;
  place.host_root = verdict.driver_root;
  place.host_dev_root = verdict.dev_root;
  place.root = container::WithoutSlashes(JoinPath(flags.host_root, verdict.driver_root));
  place.dev_root = container::WithoutSlashes(JoinPath(flags.host_root, verdict.dev_root));
  place.sys_root = flags.host_root;
  place.run_root = flags.host_root;
  place.version = verdict.version;
  return place;
}

class Toolkit {
 public:
  Toolkit(Flags flags, host::Journal journal)
      : flags_(std::move(flags)), journal_(std::move(journal)) {}

  int Run(const host::Signals& signals) {
    places_.host_root = flags_.host_root;
    places_.driver_dir = flags_.driver_install_dir;
    while (true) {
      const bool done = Reconcile();
      if (flags_.no_daemon && (done || failed_)) {
        return done || flags_.ignore_errors ? 0 : 1;
      }
      if (!Sleep(signals)) {
        return 0;
      }
    }
  }

 private:
  // True if the host is as desired.
  bool Reconcile() {
    failed_ = false;
    retry_after_.reset();
    pending_.clear();
    StartWatching();
    places_.container_ready = !flags_.with_driver_container || ContainerDriverReady();
    Watch(DriverPathsToWatch(flags_, places_));
    Watch({Here(JoinPath(names::kValidationsDir, names::kDriverReady)),
           Here(JoinPath(names::kValidationsDir, names::kDriverCtrReady))});
    const host::DriverVerdict verdict = ChooseDriver(flags_, places_);
    if (verdict.kind == host::DriverKind::kNone) {
      Say(format("waiting for a driver: {} ({}); {}", verdict.message, verdict.reason,
                 verdict.remedy));
      return false;
    }
    if (!flags_.driver_root.empty() && flags_.driver_root != verdict.driver_root) {
      Say(format("the driver is in {}, and none that can be used in {}", verdict.driver_root,
                 flags_.driver_root));
    }
    const auto runtime = MakeRuntimeSetup(flags_, journal_);
    const bool leave = flags_.no_runtime_config || flags_.nri_plugin;
    if (!leave && !IsConfigured(journal_)) {
      // The validator must not take the toolkit's files alone for a complete toolkit.
      PutFailure("the container runtime is not configured yet");
    }
    TellOfDocument();
    const Status files =
        PutFiles(verdict, runtime ? (*runtime)->LowLevelRuntimes() : KnownRuntimes());
    if (!files) {
      return Failed(files.error());
    }
    KeepInventory(verdict);
    const bool idle = leave && !IsConfigured(journal_);
    const Status configured = idle      ? Status()
                              : runtime ? Configure(**runtime, leave)
                                        : Status(std::unexpected(runtime.error()));
    TellValidator(configured);
    if (!configured) {
      return Failed(configured.error());
    }
    if (!pending_.empty()) {
      retry_after_ = kPendingAgain;
      Say(pending_);
      return true;
    }
    Say(leave ? "the host has the container toolkit; the container runtime is left alone"
              : "the host has the container toolkit");
    return true;
  }

  bool ContainerDriverReady() const {
    return ReadFile(Here(JoinPath(names::kValidationsDir, names::kDriverCtrReady))).has_value();
  }

  Status PutFiles(const host::DriverVerdict& verdict,
                  const std::vector<std::string>& low_level_runtimes) {
    HostFacts facts{JoinPath(flags_.source_root, kRuntimeFile),
                    JoinPath(flags_.source_root, kCtkFile), "", verdict.driver_root,
                    low_level_runtimes};
    if (!ManagementCdiPath(flags_).empty()) {
      container::CdiInput input;
      input.driver = PlaceOf(flags_, verdict);
      input.kind = flags_.cdi_kind;
      input.hook = {JoinPath(ToolkitDir(flags_), "nvidia-cdi-hook"), true};
      if (flags_.create_device_nodes == "control") {
        TRY(MakeControlDevices(flags_.host_root, verdict.dev_root, journal_));
      }
      TRY_ASSIGN(container::CdiSpec spec, container::ManagementCdi(input));
      spec.devices.push_back(KernelLogDevice(gpu::HasNode(flags_.host_root, "/dev/kmsg")));
      facts.management_cdi = container::CdiText(spec);
    }
    const std::vector<host::Change> changes = DesiredFiles(flags_, facts);
    TRY_ASSIGN(const std::vector<std::string> changed, journal_.Apply(changes));
    Changed(changed);
    std::vector<std::string> paths;
    paths.reserve(changes.size());
    for (const host::Change& change : changes) {
      TRY_ASSIGN(const std::string landing, journal_.Resolve(change));
      paths.push_back(JoinPath(flags_.host_root, landing));
    }
    Watch(paths);
    return {};
  }

  // While no engine answers, its last answer counts.
  std::vector<std::string> KnownRuntimes() const {
    const auto text = ReadFile(Here(RuntimeConfigPath(flags_)));
    return text ? RuntimesInConfigFile(*text) : std::vector<std::string>{};
  }

  Status Configure(RuntimeSetup& runtime, bool leave) {
    const auto outcome = leave ? runtime.Leave(journal_) : runtime.Install(journal_);
    Watch(runtime.PathsToWatch());
    if (!outcome) {
      return std::unexpected(outcome.error());
    }
    Changed(outcome->changed);
    pending_ = outcome->pending;
    for (const std::string& remark : outcome->remarks) {
      Say(remark);
    }
    if (outcome->restarted) {
      pace_.Restarted(steady_clock::now());
      log::Info("the container runtime was restarted and has {} NVIDIA runtimes",
                leave ? "no" : "the");
    }
    return {};
  }

  // The runtime's input for its documents. It can also gather it itself, so a driver that does not
  // answer is no failure.
  void KeepInventory(const host::DriverVerdict& verdict) {
    const auto text = AskForInventory(PlaceOf(flags_, verdict));
    if (!text) {
      Say(text.error().message);
      return;
    }
    const auto changed = journal_.Apply(
        {{host::Change::Kind::kFile, container::kInventoryPath, *text, 0644, std::nullopt}});
    if (!changed) {
      Say(changed.error().message);
      return;
    }
    Changed(*changed);
    Watch({Here(container::kInventoryPath), Here("/dev/nvidia-caps")});
  }

  bool Failed(const Error& error) {
    failed_ = true;
    retry_after_ = RetryAfter(error.kind);
    Say(error.message);
    return false;
  }

  // The validator sees the files itself, but not whether the container runtime uses them.
  void TellValidator(const Status& configured) {
    // An engine that does not answer may just be restarting: report it only if that lasts.
    const bool passing = !configured && !unconfigured_ && !flags_.no_daemon &&
                         configured.error().kind == ErrorKind::kUnavailable;
    unconfigured_ = !configured;
    if (passing) {
      return;
    }
    PutFailure(configured ? pending_ : configured.error().message);
  }

  // Why the engine lacks its configuration; empty: it has it.
  void PutFailure(std::string why) {
    std::ranges::replace(why, '\n', ' ');
    host::StatusValues failure;
    if (!why.empty()) {
      failure = {{"MESSAGE", why},
                 {"SERVES", ServesAsBefore(flags_, journal_) ? "true" : "false"},
                 {"NEEDS_RESTART", pending_.empty() ? "false" : "true"}};
    }
    PutStatus(names::kToolkitFailed, !why.empty(), std::move(failure));
  }

  void TellOfDocument() {
    Flags usual;
    usual.cdi_enabled = flags_.cdi_enabled;
    const std::string path = ManagementCdiPath(flags_);
    PutStatus(names::kToolkitCdi, path != ManagementCdiPath(usual), {{"MANAGEMENT", path}});
  }

  void PutStatus(const std::string& name, bool there, host::StatusValues values) {
    const auto status = host::StatusFiles::Open(Here(names::kValidationsDir));
    const auto put = !status ? Result<bool>(std::unexpected(status.error()))
                     : there ? status->Write(name, std::move(values), kOwner)
                             : status->Remove(name);
    if (!put) {
      Say(put.error().message);
    }
  }

  void Changed(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      log::Info("wrote {}", path);
    }
    pace_.Wrote(paths, steady_clock::now());
  }

  // A line is repeated only after a different one.
  void Say(const std::string& line) {
    if (said_.insert(line).second) {
      log::Info("{}", line);
    }
    if (said_.size() > 100) {
      said_.clear();
    }
  }

  // Without inotify instances repairs are only later.
  void StartWatching() {
    if (watcher_) {
      return;
    }
    auto watcher = host::Watcher::Create();
    if (!watcher) {
      Say(format("{}; the host is looked at every {} s instead", watcher.error().message,
                 kLookAgain.count()));
      return;
    }
    watcher_ = *std::move(watcher);
    watched_.clear();
  }

  void Watch(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      if (!watcher_ || !watched_.insert(path).second) {
        continue;
      }
      // Every user of a GPU, also the inventory, closes a device that was open for writing.
      const std::string dev = Here("/dev");
      const bool devices = path == dev || path.starts_with(dev + "/");
      if (const Status added = watcher_->Add(
              path, devices ? host::Watcher::For::kExistence : host::Watcher::For::kContent);
          !added) {
        Say(added.error().message);
      }
    }
  }

  // Until a change; false if the process should end.
  bool Sleep(const host::Signals& signals) {
    const auto now = steady_clock::now();
    if (const SteadyTime next = pace_.NextAt(now); next > now) {
      Say("the same is changed again and again; it is left for up to a minute");
      while (steady_clock::now() < next) {
        if (Next(signals, next).stopped) {
          return false;
        }
      }
      return true;
    }
    const auto again = retry_after_ ? std::optional<SteadyTime>(now + *retry_after_)
                       : !watcher_  ? std::optional<SteadyTime>(now + kLookAgain)
                                    : std::nullopt;
    while (true) {
      const host::Watcher::Wake wake = Next(signals, again);
      if (wake.stopped) {
        return false;
      }
      const bool passed = again && steady_clock::now() >= *again;
      if (!wake.changed.empty() || passed) {
        return true;
      }
    }
  }

  host::Watcher::Wake Next(const host::Signals& signals, std::optional<SteadyTime> deadline) {
    if (watcher_) {
      return watcher_->Next(signals.stop_fd(), deadline);
    }
    const std::array stop = {signals.stop_fd()};
    return {.stopped = host::WaitReadable(stop, deadline)[0], .changed = {}};
  }

  [[nodiscard]] std::string Here(const std::string& host_path) const {
    return ResolveInRoot(flags_.host_root, host_path)
        .value_or(JoinPath(flags_.host_root, host_path));
  }

  Flags flags_;
  std::optional<host::Watcher> watcher_;
  host::Journal journal_;
  host::DriverPlaces places_;
  std::set<std::string> watched_;
  std::set<std::string> said_;
  bool failed_ = false;
  std::optional<seconds> retry_after_;
  std::string pending_;  // as in RuntimeSetup::Outcome
  bool unconfigured_ = false;
  RepairPace pace_;
};

// One toolkit a host: the lock is on a folder that every host has, and leaves nothing behind.
Result<Fd> LockHost(const Flags& flags) {
  const std::string path = JoinPath(flags.host_root, "var/lib");
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    return FailErrno("open " + path, errno);
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK
               ? Fail(ErrorKind::kConflict, "lock the host: another toolkit works on it")
               : FailErrno("lock " + path, errno);
  }
  return fd;
}

Status RunToolkit(Flags flags, const host::Signals& signals, int& exit_status) {
  TRY_ASSIGN(const Fd lock, LockHost(flags));
  TRY_ASSIGN(const PidFile pid_file, PidFile::Make(flags.host_root, flags.pid_file));
  TRY(host::FileFingerprint(JoinPath(flags.source_root, kRuntimeFile)));  // they are readable
  TRY(host::FileFingerprint(JoinPath(flags.source_root, kCtkFile)));
  TRY_ASSIGN(host::Journal journal, host::Journal::Open(flags.host_root, kJournalFolder));
  std::optional<NriPlugin> nri;
  if (flags.nri_plugin) {
    nri.emplace(flags);
  }
  exit_status = Toolkit(std::move(flags), std::move(journal)).Run(signals);
  return {};
}

int RunInstaller(const Flags& flags) {
  for (const std::string& remark : flags.remarks) {
    log::Info("{}", remark);
  }
  const host::Signals signals;
  int exit_status = 0;
  if (const Status done = RunToolkit(flags, signals, exit_status); !done) {
    log::Error("{}", done.error().message);
    return 1;
  }
  return exit_status;
}

}  // namespace

int RunContainerToolkit(int argc, char** argv) {
  return agent::RunWith(kProgram, ParseFlags(argc, argv), RunInstaller);
}

}  // namespace gantry::container_toolkit
