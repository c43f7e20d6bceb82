// SPDX-License-Identifier: Apache-2.0
// What does the driver's container do? It installs the driver, waits until it is stopped, and
// uninstalls. If it can't install, it keeps running, reports why to users and the operator, and
// retries when its input changes.
#include "operands/driver/driver.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>

#include "agent/flags.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"
#include "host/kernel_modules.h"
#include "host/signals.h"
#include "host/status_files.h"
#include "host/watch.h"
#include "operands/driver/flags.h"
#include "operands/driver/gather.h"
#include "operands/driver/install.h"
#include "operands/driver/modules.h"
#include "operands/driver/termination_log.h"
#include "policy/names.h"

namespace gantry::driver {
namespace {

constexpr char kInfiniBand[] = "mlx5_core";
constexpr std::chrono::seconds kLookAgain(10);  // procfs and sysfs send no events

bool FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && ParseBool(value).value_or(false);
}

Settings SettingsOfEnvironment() {
  const char* const digest = std::getenv("DRIVER_CONFIG_DIGEST");
  return {.digest = digest == nullptr ? "" : digest,
          .gdrcopy = FromEnvironment("GDRCOPY_ENABLED"),
          .gds = FromEnvironment("GDS_ENABLED"),
          .rdma = FromEnvironment("GPU_DIRECT_RDMA_ENABLED")};
}

std::string Validations(const Flags& flags) { return JoinPath(flags.root, names::kValidationsDir); }

// One container at a time, NVIDIA's own included: it holds the same file.
Result<Fd> HoldPidFile(const Flags& flags) {
  const std::string path = PidFile(flags);
  TRY(host::MakeDirectories(ParentOf(path)));
  Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) {
    return FailErrno("open " + path, errno);
  }
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    const std::string other(Trim(ReadDescriptor(file.get(), path).value_or("")));
    return Fail(ErrorKind::kConflict,
                format("another driver container runs on this node (process {})", other));
  }
  if (ftruncate(file.get(), 0) != 0) {
    return FailErrno("write " + path, errno);
  }
  TRY(WriteDescriptor(file.get(), format("{}\n", getpid()), path));
  return file;
}

// Reports why there is no driver: to the kubelet, to the validator, which tells the cluster, and in
// the log.
class Excuse {
 public:
  explicit Excuse(const Flags& flags) : flags_(flags) {}

  // While it lasts.
  void Say(const std::string& reason) {
    if (reason == said_) {
      return;
    }
    Leave(reason);
    said_ = reason;
    if (const auto files = host::StatusFiles::Open(Validations(flags_))) {
      const auto wrote = files->Write(names::kDriverCtrFailed, {{"MESSAGE", reason}}, kProgram);
      if (!wrote) {
        log::Warning("{}", wrote.error().message);
      }
    }
  }

  // When this process ends: no retry follows.
  void Leave(const std::string& reason) {
    if (reason != said_) {
      log::Error("{}: {}", kProgram, reason);
    }
    WriteTerminationLog(flags_.termination_log, reason + "\n");
    RemoveFile();
  }

  void TakeBack() {
    said_.clear();
    WriteTerminationLog(flags_.termination_log, "");
    RemoveFile();
  }

 private:
  void RemoveFile() const {
    const Status gone = host::RemoveFile(JoinPath(Validations(flags_), names::kDriverCtrFailed));
    if (!gone) {
      log::Warning("{}", gone.error().message);
    }
  }

  const Flags& flags_;
  std::string said_;
};

// Do not exit: an ended process can't report, a failed compile or load does not fix itself, and a
// compile costs minutes of every CPU.
std::chrono::seconds TryAgainAfter(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kConflict:
      return std::chrono::seconds(30);
    case ErrorKind::kInvalid:
      return std::chrono::hours(1);
    default:
      return std::chrono::minutes(5);
  }
}

// Waits for a stop, a change of the sources, or the time to retry; true after a stop.
bool WaitToTry(const Flags& flags, const Error& error, const host::Signals& signals) {
  const auto deadline = RealClock().Now() + TryAgainAfter(error.kind);
  auto watcher = host::Watcher::Create();
  if (watcher) {
    for (const std::string& path :
         {flags.sources, flags.precompiled, flags.packages, flags.module_config,
          JoinPath(flags.precompiled, flags.kernel_release),
          JoinPath(JoinPath(flags.precompiled, flags.kernel_release), flags.version)}) {
      if (const Status added = watcher->Add(path); !added) {
        log::Debug("{}", added.error().message);
      }
    }
    return watcher->Next(signals.stop_fd(), deadline).stopped;
  }
  const std::array<int, 1> stop = {signals.stop_fd()};
  return host::WaitReadable(stop, deadline).front();
}

// Returns when installed, or stopped.
Result<bool> InstallUntilDone(const Flags& flags, const Settings& settings, Kernel& kernel,
                              const host::Signals& signals, Excuse& excuse) {
  while (true) {
    const Status installed = Install(flags, settings, kernel, signals.stop_fd());
    if (installed) {
      excuse.TakeBack();
      log::Info("driver {} is ready on kernel {}", flags.version, flags.kernel_release);
      return true;
    }
    if (signals.stop_requested()) {
      return false;
    }
    if (flags.exit_on_failure) {
      return std::unexpected(installed.error());
    }
    excuse.Say(installed.error().message);
    if (WaitToTry(flags, installed.error(), signals)) {
      return std::unexpected(installed.error());
    }
  }
}

Status Init(const Flags& flags, const host::Signals& signals, Excuse& excuse) {
  TRY_ASSIGN(const Fd pid_file, HoldPidFile(flags));
  const std::unique_ptr<Kernel> kernel = RunningKernel(KernelModulesFolder(flags));
  TRY_ASSIGN(const bool installed,
             InstallUntilDone(flags, SettingsOfEnvironment(), *kernel, signals, excuse));
  if (installed) {
    const std::array<int, 1> stop = {signals.stop_fd()};
    host::WaitReadable(stop);
    TRY(Uninstall(flags, *kernel));
    log::Info("the driver is unloaded");
  }
  return host::RemoveFile(PidFile(flags));
}

// nvidia-peermem needs NVIDIA's driver and InfiniBand's, which other containers load.
bool ReadyForPeermem(const Flags& flags) {
  const bool driver = ReadFile(JoinPath(Validations(flags), names::kDriverCtrReady)).has_value();
  const bool mofed =
      FromEnvironment("USE_HOST_MOFED")
          ? IsLoaded(flags, kInfiniBand)
          : access(JoinPath(flags.root, "run/mellanox/drivers/.driver-ready").c_str(), F_OK) == 0;
  return driver && mofed;
}

Status ReloadPeermem(const Flags& flags, const host::Signals& signals) {
  const std::unique_ptr<Kernel> kernel = RunningKernel(KernelModulesFolder(flags));
  const std::array<int, 1> stop = {signals.stop_fd()};
  while (!signals.stop_requested()) {
    if (ReadyForPeermem(flags) && !IsLoaded(flags, kPeermem)) {
      TRY(LoadPeermem(flags, *kernel, signals.stop_fd()));
      log::Info("{} is loaded", kPeermem);
    }
    host::WaitReadable(stop, RealClock().Now() + kLookAgain);
  }
  return kernel->Unload(kPeermem);
}

// The kubelet's probe: without InfiniBand there is no failure.
int ProbePeermem(const Flags& flags) {
  if (IsLoaded(flags, kInfiniBand) && !IsLoaded(flags, kPeermem)) {
    std::fprintf(stderr, "%s is not loaded\n", kPeermem);
    return 1;
  }
  return 0;
}

int Run(const Flags& flags) {
  if (flags.word == Word::kProbePeermem) {
    return ProbePeermem(flags);
  }
  const host::Signals signals;
  Excuse excuse(flags);
  const Status done =
      flags.word == Word::kInit ? Init(flags, signals, excuse) : ReloadPeermem(flags, signals);
  if (!done) {
    excuse.Leave(done.error().message);
    return 1;
  }
  return 0;
}

}  // namespace

int RunDriver(int argc, char** argv) {
  return agent::RunWith(kProgram, ParseFlags(argc, argv), Run);
}

}  // namespace gantry::driver
