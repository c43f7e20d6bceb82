// SPDX-License-Identifier: Apache-2.0
// How is a host restored? The journal is undone backwards, then the files that the operands made
// for each other are removed, then their folders if these contain nothing else.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/flags.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/hook_program.h"
#include "gpu/owners.h"
#include "host/child_call.h"
#include "host/files.h"
#include "host/journal.h"
#include "host/processes.h"
#include "host/signals.h"
#include "host/watch.h"
#include "operands/container_toolkit/container_toolkit.h"
#include "operands/container_toolkit/desired_files.h"
#include "operands/container_toolkit/device_nodes.h"
#include "operands/container_toolkit/runtime_setup.h"
#include "operands/container_toolkit/trial_folder.h"
#include "policy/names.h"

namespace gantry::container_toolkit {
namespace {

// Prefixes of the CDI documents that the operands write.
constexpr std::array kDocuments = {"k8s.device-plugin.nvidia.com-", "management.nvidia.com-",
                                   "nvidia.com-cuda."};
constexpr char kPidFile[] = "/run/nvidia/toolkit/toolkit.pid";
// Folders that the pods' volumes made, and the status files' folders, deepest first. (/dev/log is
// one on a node without syslog after a driver container.)
constexpr std::array kFolders = {"/run/nvidia/validations",
                                 "/run/nvidia/toolkit",
                                 "/run/nvidia/driver/lib/firmware",
                                 "/run/nvidia/driver/lib",
                                 "/run/nvidia/driver",
                                 "/run/nvidia",
                                 "/run/nvidia-fabricmanager",
                                 "/run/nvidia-topologyd",
                                 "/run/mellanox/drivers/usr/src",
                                 "/run/mellanox/drivers/usr",
                                 "/run/mellanox/drivers",
                                 "/run/mellanox",
                                 "/dev/log",
                                 names::kFeaturesDir,
                                 names::kCustomRulesDir,
                                 "/etc/kubernetes/node-feature-discovery"};

Status RemoveMatching(const std::string& root, const std::string& folder,
                      const std::function<bool(const std::string&)>& matches) {
  TRY_ASSIGN(const std::string here, ResolveInRoot(root, folder));
  TRY_ASSIGN(const std::vector<std::string> names, ListDirectory(here));
  for (const std::string& name : names) {
    if (matches(name)) {
      TRY(host::RemoveFile(JoinPath(here, name)));
    }
  }
  return {};
}

// Only an empty folder; mounts and other owners' files stay.
void RemoveFolder(const std::string& root, const std::string& folder) {
  if (const auto here = ResolveInRoot(root, folder)) {
    ::rmdir(here->c_str());
  }
}

bool IsMountPoint(const std::string& path) {
  struct stat here{};
  struct stat above{};
  return ::stat(path.c_str(), &here) == 0 && ::stat(ParentOf(path).c_str(), &above) == 0 &&
         here.st_dev != above.st_dev;
}

// The MPS control daemon's files for its clients. Its mount is the host's, and must be unmounted in
// the mount namespace of the host's first process.
Status RemoveMps(const std::string& root) {
  const std::string folder = EnvironmentVariable("MPS_ROOT").value_or("/run/nvidia/mps");
  TRY_ASSIGN(const std::string here, ResolveInRoot(root, folder));
  if (IsMountPoint(JoinPath(here, "shm"))) {
    const auto memory = JoinPath(folder, "shm");
    host::ChildCall call("unmount " + memory);
    TRY(call.Run(
        [&memory]() -> Result<std::string> {
          const Fd first(::open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC));
          if (::setns(first.get(), CLONE_NEWNS) != 0 ||
              ::umount2(memory.c_str(), MNT_DETACH) != 0) {
            return FailErrno("unmount " + memory, errno);
          }
          return std::string();
        },
        std::chrono::seconds(10), -1));
  }
  std::error_code kept;
  for (const char* name : {"nvidia.com", ".ready", ".compute-modes"}) {
    std::filesystem::remove_all(JoinPath(here, name), kept);
  }
  for (const char* name : {"shm", ".room", ""}) {
    ::rmdir(JoinPath(here, name).c_str());
  }
  return {};
}

// A driver container's cache for its next start.
Status RemoveDriverFiles(const std::string& root) {
  TRY_ASSIGN(const std::string cache, ResolveInRoot(root, names::kDriverCacheDir));
  std::error_code kept;
  std::filesystem::remove_all(cache, kept);
  TRY_ASSIGN(const std::string state, ResolveInRoot(root, names::kDriverState));
  return host::RemoveFile(state);
}

// What the metrics exporter has counted.
Status RemoveExporterState(const std::string& root) {
  TRY_ASSIGN(const std::string here, ResolveInRoot(root, names::kExporterState));
  std::error_code kept;
  std::filesystem::remove_all(here, kept);
  return {};
}

// Copies of CUDA; running containers with one mounted lose it.
Status RemoveCuda(const std::string& root) {
  TRY_ASSIGN(const std::string here, ResolveInRoot(root, names::kCudaRoot));
  std::error_code failed;
  std::filesystem::remove_all(here, failed);
  if (failed) {
    return FailErrno("remove " + here, failed.value());
  }
  RemoveFolder(root, ParentOf(names::kCudaRoot));
  return {};
}

// GPUs that the VFIO manager has bound get their earlier drivers. kUnavailable: a virtual machine
// has one; the message names its process.
Status GiveBackGpus(const std::string& root) {
  TRY_ASSIGN(const std::string journal,
             ResolveInRoot(root, JoinPath(names::kValidationsDir, names::kVfioBinding)));
  if (::access(journal.c_str(), F_OK) != 0) {
    return {};
  }
  host::Command command;
  command.words = {"/proc/self/exe", "vfio-manage", "restore", "--host-root", root,
                   "--journal",      journal};
  command.limit = std::chrono::seconds(90);
  TRY_ASSIGN(const auto done, host::RunProgram(command));
  return done.exit_status == 0
             ? Status()
             : Fail(ErrorKind::kUnavailable,
                    format("give back the GPUs of virtual machines: {}", Trim(done.errors)));
}

// What the DRA driver keeps on the disk. Containers that have a claim's GPU start again with its
// document, which calls a program there: both stay as long as there is one.
Status RemoveDraDriver(const std::string& root, const std::string& kubelet_root) {
  const std::string folder = JoinPath(kubelet_root, format("plugins/{}", names::kGpuDraDriver));
  const std::string hook = JoinPath(folder, names::kDraHookCopy);
  if (container::MakerOfHook(root, hook) != container::HookMaker::kGantry) {
    return {};  // none, or NVIDIA's
  }
  TRY_ASSIGN(const std::string documents, ResolveInRoot(root, names::kCdiDir));
  TRY_ASSIGN(const auto files, ListDirectory(documents));
  const auto claims = std::ranges::count_if(
      files, [](const std::string& name) { return name.starts_with(names::kDraClaimDocument); });
  if (claims != 0) {
    log::Warning(
        "{} stays on the host: {} claims have GPUs; end their pods, with the DRA driver "
        "installed again, and uninstall it",
        folder, claims);
    return {};
  }
  TRY_ASSIGN(const std::string here, ResolveInRoot(root, folder));
  std::error_code failed;
  std::filesystem::remove_all(here, failed);
  return failed ? Status(FailErrno("remove " + here, failed.value())) : Status();
}

Status RemoveOperandFiles(const std::string& root) {
  TRY(RemoveDraDriver(root, EnvironmentVariable("KUBELET_ROOT").value_or(names::kKubeletRoot)));
  TRY(RemoveMps(root));
  TRY(RemoveDriverFiles(root));
  TRY(RemoveExporterState(root));
  TRY(RemoveCuda(root));
  TrialFolder::RemoveLeft(root);
  TRY(RemoveMatching(root, names::kCdiDir, [](const std::string& name) {
    return std::ranges::any_of(kDocuments,
                               [&](const char* prefix) { return name.starts_with(prefix); });
  }));
  RemoveFolder(root, names::kCdiDir);
  TRY(RemoveMatching(root, names::kValidationsDir, [](const std::string& name) {
    return name.ends_with("-ready") || name.starts_with(gpu::kOwnersFile) ||
           name.starts_with(names::kMigChange) || name == names::kLastChecks ||
           name == names::kDriverCtrFailed || name == names::kToolkitFailed ||
           name == names::kVfioFailed || name == format("{}.lock", names::kVfioBinding) ||
           name == names::kToolkitCdi;
  }));
  TRY_ASSIGN(const std::string pid_file, ResolveInRoot(root, kPidFile));
  TRY(host::RemoveFile(pid_file));  // of a killed toolkit
  for (const char* folder : kFolders) {
    RemoveFolder(root, folder);
  }
  return {};
}

// True if nothing of the toolkit is left.
Result<bool> Clean(const Flags& flags) {
  const Status gpus = GiveBackGpus(flags.host_root);
  TRY_ASSIGN(host::Journal journal, host::Journal::Open(flags.host_root, kJournalFolder));
  TRY(RemoveControlDevices(flags.host_root, journal));
  const auto runtime = MakeRuntimeSetup(flags, journal);
  if (!runtime) {
    log::Warning("no container runtime is restarted: {}", runtime.error().message);
  }
  TRY_ASSIGN(const auto outcome,
             runtime ? (*runtime)->Remove(journal) : RemoveWithoutRuntime(flags, journal));
  for (const std::string& path : outcome.changed) {
    log::Info("put back {}", path);
  }
  if (outcome.restarted) {
    log::Info("the container runtime was restarted without the NVIDIA runtimes");
  }
  TRY(RemoveOperandFiles(flags.host_root));
  TRY(gpus);
  if (!outcome.kept.empty()) {
    log::Warning("{} stays on the host: {}; another host-cleanup removes it", ToolkitDir(flags),
                 outcome.kept);
  }
  return outcome.kept.empty();
}

int Run(const CleanupFlags& flags) {
  const host::Signals signals;
  const Result<bool> done = [&]() -> Result<bool> {
    TRY_ASSIGN(const bool all, Clean(flags.toolkit));
    TRY(host::WriteFileAtomic(flags.done_file, ""));
    return all;
  }();
  if (!done) {
    log::Error("{}", done.error().message);
    return 1;
  }
  if (*done) {
    log::Info("the host is as it was before the container toolkit");
  }
  if (flags.wait) {
    const std::array stop = {signals.stop_fd()};
    host::WaitReadable(stop);
  }
  return 0;
}

}  // namespace

int RunHostCleanup(int argc, char** argv) {
  return agent::RunWith(kCleanupProgram, ParseCleanupFlags(argc, argv), Run);
}

}  // namespace gantry::container_toolkit
