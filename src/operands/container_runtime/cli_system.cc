// SPDX-License-Identifier: Apache-2.0
// What does `nvidia-ctk system` do? It makes the driver's device nodes, and the links in /dev/char
// by which a runtime finds a device's name from its numbers (systemd rejects device rules without
// one).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "base/paths.h"
#include "base/text.h"
#include "container/driver_files.h"
#include "elf/library_cache.h"
#include "gpu/proc_gpus.h"
#include "host/files.h"
#include "host/processes.h"
#include "operands/container_runtime/device_numbers.h"
#include "operands/container_runtime/toolkit_cli.h"

namespace gantry::container_runtime {
namespace {

using Takes = Flag::Takes;

constexpr mode_t kNodeMode = 0666;

// Loads the node's modules in the order of their dependencies, with the host's own modprobe.
Status LoadModules(const CliCall& call, const std::string& root, bool dry_run) {
  for (const char* module : {"nvidia", "nvidia-uvm", "nvidia-modeset"}) {
    Say(call, format("modprobe {}", module));
    if (dry_run) {
      continue;
    }
    host::Command command;
    command.words = {"/sbin/modprobe", module};
    command.root = root == "/" ? "" : root;
    TRY_ASSIGN(const host::Finished done, host::RunProgram(command));
    if (done.exit_status != 0) {
      return Fail(ErrorKind::kInternal, format("load module {}: {}", module, Trim(done.errors)));
    }
  }
  return {};
}

Status MakeNode(const CliCall& call, const std::string& path, DeviceNumber number, bool dry_run) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) {
    return {};
  }
  Say(call, format("mknod {} c {} {}", path, number.major, number.minor));
  if (dry_run) {
    return {};
  }
  TRY(host::MakeDirectories(ParentOf(path)));
  // Regardless of the umask: every process that has the node may open it.
  if (::mknod(path.c_str(), S_IFCHR | kNodeMode, gnu_dev_makedev(number.major, number.minor)) !=
          0 ||
      ::chmod(path.c_str(), kNodeMode) != 0) {
    return FailErrno("make device node " + path, errno);
  }
  return {};
}

Status MakeControlNodes(const CliCall& call, const std::string& dev_root, bool dry_run) {
  TRY_ASSIGN(const std::string table, ReadFile("/proc/devices"));
  const std::vector<NamedNode> nodes = ControlNodes(table);
  if (nodes.empty()) {
    return Fail(ErrorKind::kNotFound,
                "make device nodes: /proc/devices has no nvidia; is the driver loaded?");
  }
  for (const NamedNode& node : nodes) {
    TRY(MakeNode(call, JoinPath(dev_root, node.path), node.number, dry_run));
  }
  return {};
}

// Every existing node of the driver below `dev_root`.
std::vector<NamedNode> NodesThere(const std::string& dev_root) {
  std::vector<NamedNode> nodes;
  for (const char* pattern :
       {"/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/nvidia-caps-imex-channels/*"}) {
    const auto paths = GlobInRoot(dev_root, pattern);
    for (const std::string& path : paths.value_or(std::vector<std::string>{})) {
      struct stat info{};
      if (::stat(path.c_str(), &info) == 0 && S_ISCHR(info.st_mode)) {
        nodes.push_back({path, {gnu_dev_major(info.st_rdev), gnu_dev_minor(info.st_rdev)}});
      }
    }
  }
  return nodes;
}

Status LinkNodes(const CliCall& call, const std::vector<NamedNode>& nodes,
                 const std::string& folder, bool dry_run) {
  for (const NamedNode& node : nodes) {
    const std::string link =
        JoinPath(folder, format("{}:{}", node.number.major, node.number.minor));
    const std::string target = RelativeTarget(folder, node.path);
    std::string before(4096, '\0');
    const ssize_t length = ::readlink(link.c_str(), before.data(), before.size());
    before.resize(length > 0 ? static_cast<size_t>(length) : 0);
    if (before == target) {
      continue;
    }
    Say(call, format("link {} -> {}", link, target));
    if (dry_run) {
      continue;
    }
    TRY(host::MakeDirectories(folder));
    if ((length > 0 && ::unlink(link.c_str()) != 0) ||
        (::symlink(target.c_str(), link.c_str()) != 0 && errno != EEXIST)) {
      return FailErrno("link " + link, errno);
    }
  }
  return {};
}

}  // namespace

Status CreateDeviceNodes(const CliCall& call) {
  TRY_ASSIGN(const FlagWords flags,
             FlagWords::Parse(
                 call.words,
                 {{{"root", "driver-root"}, Takes::kValue, {"NVIDIA_DRIVER_ROOT", "DRIVER_ROOT"}},
                  {{"dev-root"}, Takes::kValue, {"NVIDIA_DEV_ROOT", "DEV_ROOT"}},
                  {{"control-devices"}, Takes::kNothing},
                  {{"load-kernel-modules"}, Takes::kNothing},
                  {{"dry-run"}, Takes::kNothing, {"DRY_RUN"}}},
                 call.environment));
  const std::string root = flags.Text("root", "/");
  if (flags.On("load-kernel-modules")) {
    TRY(LoadModules(call, root, flags.On("dry-run")));
  }
  if (!flags.On("control-devices")) {
    return {};
  }
  return MakeControlNodes(call, flags.Text("dev-root", root), flags.On("dry-run"));
}

Status CreateDevCharSymlinks(const CliCall& call) {
  TRY_ASSIGN(
      const FlagWords flags,
      FlagWords::Parse(call.words,
                       {{{"dev-char-path"}, Takes::kValue, {"DEV_CHAR_PATH"}},
                        {{"driver-root"}, Takes::kValue, {"NVIDIA_DRIVER_ROOT", "DRIVER_ROOT"}},
                        {{"create-all"}, Takes::kNothing, {"CREATE_ALL"}},
                        {{"load-kernel-modules"}, Takes::kNothing, {"LOAD_KERNEL_MODULES"}},
                        {{"create-device-nodes"}, Takes::kNothing, {"CREATE_DEVICE_NODES"}},
                        {{"dry-run"}, Takes::kNothing, {"DRY_RUN"}}},
                       call.environment));
  const std::string root = flags.Text("driver-root", "/");
  const bool dry_run = flags.On("dry-run");
  const bool all = flags.On("create-all");
  if (!all && (flags.On("load-kernel-modules") || flags.On("create-device-nodes"))) {
    Say(call, "--load-kernel-modules and --create-device-nodes go with --create-all; ignored");
  }
  if (all && flags.On("load-kernel-modules")) {
    TRY(LoadModules(call, root, dry_run));
  }
  if (all && flags.On("create-device-nodes")) {
    TRY(MakeControlNodes(call, root, dry_run));
  }
  std::vector<NamedNode> nodes = NodesThere(root);
  if (all) {
    TRY_ASSIGN(const std::string table, ReadFile("/proc/devices"));
    const std::string minors = ReadFile("/proc/driver/nvidia-caps/mig-minors").value_or("");
    nodes = PossibleNodes(table, minors, gpu::GpusFromProc("/"));
    for (NamedNode& node : nodes) {
      node.path = JoinPath(root, node.path);
    }
  }
  return LinkNodes(call, nodes, flags.Text("dev-char-path", "/dev/char"), dry_run);
}

Status PrintLibraryCache(const CliCall& call) {
  TRY_ASSIGN(const FlagWords flags,
             FlagWords::Parse(call.words,
                              {{{"driver-root", "root"}, Takes::kValue, {"NVIDIA_DRIVER_ROOT"}}},
                              call.environment));
  TRY_ASSIGN(const std::string path,
             ResolveInRoot(flags.Text("driver-root", "/"), elf::kLinkerCache));
  TRY_ASSIGN(const std::string cache, ReadFile(path));
  TRY_ASSIGN(const elf::LibraryCache libraries, elf::LibraryCache::Read(cache));
  std::string text;
  for (const elf::CachedName& library : libraries.names()) {
    text += format("{} => {}\n", library.soname, library.path);
  }
  return PutOutput("", text);
}

}  // namespace gantry::container_runtime
