// SPDX-License-Identifier: Apache-2.0
// In which order is a driver installed and removed? First the steps that can fail without harm
// (finding, compiling), then the earlier driver is unloaded, then the new one is loaded. All other
// programs wait for .driver-ctr-ready, which is written last and removed first.
#include "operands/driver/install.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"
#include "host/processes.h"
#include "operands/driver/gather.h"
#include "operands/driver/modules.h"
#include "operands/driver/obtain.h"
#include "policy/names.h"

namespace gantry::driver {
namespace {

namespace fs = std::filesystem;

constexpr char kPersistence[] = "nvidia-persistenced";
constexpr char kFirmwarePath[] = "sys/module/firmware_class/parameters/path";
constexpr std::chrono::seconds kDaemonStart(60);
constexpr std::chrono::seconds kDaemonEnd(5);

std::string ReadyFile(const Flags& flags) {
  return JoinPath(JoinPath(flags.root, names::kValidationsDir), names::kDriverCtrReady);
}

Result<std::string> ProcModules(const Flags& flags) {
  return ReadFile(JoinPath(flags.root, "proc/modules"));
}

// Processes that hold the driver's device nodes, except the persistence daemon, which this program
// ends.
Result<std::vector<host::Holder>> Holders(const Flags& flags) {
  TRY_ASSIGN(const std::vector<host::ProcessText> processes,
             host::ReadProcesses(JoinPath(flags.root, "proc")));
  std::vector<host::Holder> holders = host::HoldersAmong(processes, host::NvidiaDeviceOf);
  // The kernel keeps the first 15 characters of a name.
  std::erase_if(holders, [](const host::Holder& holder) {
    return holder.name == std::string_view(kPersistence).substr(0, 15);
  });
  return holders;
}

Result<std::vector<host::ProcessId>> PersistenceDaemons(const Flags& flags) {
  TRY_ASSIGN(const std::vector<host::ProcessText> processes,
             host::ReadProcesses(JoinPath(flags.root, "proc")));
  std::vector<host::ProcessId> found;
  for (const host::ProcessText& process : processes) {
    if (Trim(process.name) == std::string_view(kPersistence).substr(0, 15)) {
      if (const auto id = host::Identify(process.pid)) {
        found.push_back(*id);
      }
    }
  }
  return found;
}

// /run/nvidia/driver/lib/firmware is the driver root's firmware as the kernel spells it, in the
// host's root. A value set by another program stays.
void PointToFirmware(const Flags& flags, const std::string& parameters) {
  const std::string file = JoinPath(flags.root, kFirmwarePath);
  if (!WantsFirmware(parameters) || access(file.c_str(), F_OK) != 0 ||
      !Trim(ReadFile(file).value_or("")).empty()) {
    return;
  }
  // Written in place: sysfs files can't be replaced.
  std::FILE* const path = std::fopen(file.c_str(), "we");
  const std::string folder = format("{}/lib/firmware", names::kDriverInstallDir);
  const bool wrote = path != nullptr && std::fputs(folder.c_str(), path) >= 0;
  if ((path != nullptr && std::fclose(path) != 0) || !wrote) {
    log::Warning("the kernel is not told where the driver's firmware is: {} can't be written",
                 file);
  }
}

Status PutFirmware(const Flags& flags) {
  if (access(flags.firmware.c_str(), F_OK) != 0) {
    return {};
  }
  const std::string to = JoinPath(flags.user_space, "lib/firmware");
  std::error_code error;
  fs::create_directories(to, error);
  if (!error) {
    fs::copy(flags.firmware, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing,
             error);
  }
  return error ? FailErrno(format("copy {} to {}", flags.firmware, to), error.value()) : Status{};
}

void StartPersistence(const Flags& flags) {
  const std::string program = JoinPath("/usr/bin", kPersistence);
  if (access(JoinPath(flags.user_space, program).c_str(), X_OK) != 0) {
    return;
  }
  const auto started = host::RunProgram(
      {.words = {program, "--persistence-mode"}, .root = flags.user_space, .limit = kDaemonStart});
  if (!started || started->exit_status != 0) {
    log::Warning("{} does not start: {}", kPersistence,
                 started ? std::string(Trim(started->errors)) : started.error().message);
  }
}

Status StopPersistence(const Flags& flags) {
  TRY_ASSIGN(const std::vector<host::ProcessId> daemons, PersistenceDaemons(flags));
  const auto deadline = std::chrono::steady_clock::now() + kDaemonEnd;
  for (const host::ProcessId& daemon : daemons) {
    if (!host::SendSignal(daemon, SIGTERM)) {
      continue;  // it ended
    }
    if (!host::AwaitEnd(daemon, deadline)) {
      return Fail(ErrorKind::kConflict, format("{} (process {}) does not end after {} s",
                                               kPersistence, daemon.pid, kDaemonEnd.count()));
    }
  }
  return {};
}

std::vector<std::string> AllModules(const Flags& flags) {
  std::vector<std::string> all = flags.modules;
  if (KernelName(flags.modules.front()) == "nvidia") {
    all.insert(all.end(), kDriverModules.begin(), kDriverModules.end());
  }
  return all;
}

Status LoadAll(const std::vector<ModuleLoad>& order, Kernel& kernel) {
  for (auto load = order.begin(); load != order.end(); ++load) {
    log::Info("load {} {}", load->file, load->parameters);
    if (Status loaded = kernel.Load(load->file, load->parameters); !loaded) {
      for (auto back = std::make_reverse_iterator(load); back != order.rend(); ++back) {
        if (const Status gone = kernel.Unload(back->name); !gone) {
          log::Warning("{}", gone.error().message);
        }
      }
      return loaded;
    }
  }
  return {};
}

// The content that NVIDIA's start-up probe writes: the validator reads it.
std::string ReadyText(const Settings& settings) {
  return format("GDRCOPY_ENABLED: {}\nGDS_ENABLED: {}\nGPU_DIRECT_RDMA_ENABLED: {}\n",
                settings.gdrcopy, settings.gds, settings.rdma);
}

Result<std::vector<ModuleLoad>> WhatToLoad(const Flags& flags, const std::string& folder,
                                           const std::vector<std::string>& modules) {
  TRY_ASSIGN(const auto parameters, GivenParameters(flags));
  return LoadOrder(modules, ModuleFiles(folder), parameters);
}

Status Come(const Flags& flags, const std::vector<ModuleLoad>& order, Kernel& kernel) {
  TRY(kernel.Unbind(DriverPlace(flags)));
  TRY(PutFirmware(flags));
  TRY(kernel.Bind(flags.user_space, DriverPlace(flags)));
  if (!order.empty()) {
    PointToFirmware(flags, order.front().parameters);
    TRY(LoadAll(order, kernel));
  }
  TRY(kernel.MakeDeviceNodes(flags.root));
  StartPersistence(flags);
  return {};
}

}  // namespace

bool IsLoaded(const Flags& flags, std::string_view module) {
  const std::string folder = JoinPath(JoinPath(flags.root, "sys/module"), KernelName(module));
  return access(folder.c_str(), F_OK) == 0;
}

Status Install(const Flags& flags, const Settings& settings, Kernel& kernel, int stop_fd) {
  const InstallFacts facts = GatherFacts(flags, settings.digest);
  TRY_ASSIGN(const InstallPlan plan, PlanInstall(flags, facts));
  if (!plan.note.empty()) {
    log::Info("{}", plan.note);
  }
  std::vector<ModuleLoad> order;
  if (plan.way != Way::kLoaded) {
    TRY_ASSIGN(const std::string folder, ObtainModules(flags, plan, facts.headers, stop_fd));
    TRY_ASSIGN(order, WhatToLoad(flags, folder, flags.modules));
    TRY(UnloadModules(flags, kernel));
  } else {
    log::Info("driver {} is loaded with these settings: it stays", flags.version);
    TRY(ObtainLibraries(plan, stop_fd));
  }
  if (Status came = Come(flags, order, kernel); !came) {
    const Status gone = kernel.Unbind(DriverPlace(flags));
    return gone ? came : std::unexpected(came.error().In(gone.error().message));
  }
  TRY(host::MakeDirectories(ParentOf(ReadyFile(flags))));
  if (!settings.digest.empty()) {
    TRY(host::WriteFileAtomic(StateFile(flags), settings.digest));
  }
  return host::WriteFileAtomic(ReadyFile(flags), ReadyText(settings));
}

Status UnloadModules(const Flags& flags, Kernel& kernel, const std::vector<host::PodName>& pods) {
  TRY_ASSIGN(const std::string modules, ProcModules(flags));
  const std::vector<std::string> ours = AllModules(flags);
  const std::vector<std::string> order = UnloadOrder(ours, modules);
  for (const std::string& module : order) {
    if (std::ranges::none_of(ours, [&](const auto& each) { return KernelName(each) == module; })) {
      return Fail(ErrorKind::kConflict, format("unload the driver: the module {} uses it", module));
    }
  }
  if (!order.empty()) {
    TRY_ASSIGN(const std::vector<host::Holder> holders, Holders(flags));
    if (!holders.empty()) {
      return Fail(ErrorKind::kConflict, format("unload the driver: it is in use by {}",
                                               host::DescribeHolders(holders, pods)));
    }
    TRY(StopPersistence(flags));
  }
  // Before the first module is unloaded: a driver with only some modules left is no longer that
  // driver.
  const auto state = ReadFile(StateFile(flags));
  TRY(host::RemoveFile(StateFile(flags)));
  for (const std::string& module : order) {
    log::Info("unload {}", module);
    if (Status gone = kernel.Unload(module); !gone) {
      if (module == order.front() && state) {
        TRY(host::WriteFileAtomic(StateFile(flags), *state));  // it is complete
      }
      return gone;
    }
  }
  return {};
}

Status Uninstall(const Flags& flags, Kernel& kernel) {
  TRY(host::RemoveFile(ReadyFile(flags)));
  TRY(UnloadModules(flags, kernel));
  return kernel.Unbind(DriverPlace(flags));
}

Status LoadPeermem(const Flags& flags, Kernel& kernel, int stop_fd) {
  const InstallFacts facts = GatherFacts(flags, "");
  TRY_ASSIGN(const InstallPlan plan, PlanInstall(flags, facts));
  TRY_ASSIGN(const std::string folder, ObtainModules(flags, plan, facts.headers, stop_fd));
  TRY_ASSIGN(const auto order, WhatToLoad(flags, folder, {kPeermem}));
  return LoadAll(order, kernel);
}

}  // namespace gantry::driver
