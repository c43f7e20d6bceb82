// SPDX-License-Identifier: Apache-2.0
// What does the hook do in a container's root file system before its program starts? It is a
// createContainer hook of the OCI runtime specification: it runs after the mounts, in the
// container's namespaces, and still sees the host's file system.
#include "operands/container_runtime/hooks.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/oci_root.h"
#include "operands/container_runtime/application_profile.h"
#include "operands/container_runtime/hook_steps.h"
#include "operands/container_runtime/library_names.h"
#include "operands/container_runtime/library_update.h"

namespace gantry::container_runtime {
namespace {

constexpr char kApplicationProfile[] =
    "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf";
constexpr uint64_t kIsMountRoot = 0x2000;  // STATX_ATTR_MOUNT_ROOT, which musl's headers lack
constexpr char kDriverParameters[] = "/proc/driver/nvidia/params";

// A file with that content without a path: on a tmpfs that is not attached to any mount point.
Result<Fd> DetachedFile(std::string_view content) {
  const Fd context(static_cast<int>(::syscall(SYS_fsopen, "tmpfs", 1 /* FSOPEN_CLOEXEC */)));
  if (!context.valid() || ::syscall(SYS_fsconfig, context.get(), 6 /* FSCONFIG_CMD_CREATE */,
                                    nullptr, nullptr, 0) != 0) {
    return FailErrno("make a temporary file system", errno);
  }
  const Fd mount(
      static_cast<int>(::syscall(SYS_fsmount, context.get(), 1 /* FSMOUNT_CLOEXEC */, 0)));
  if (!mount.valid()) {
    return FailErrno("make a temporary file system", errno);
  }
  const Fd file(::openat(mount.get(), "params", O_WRONLY | O_CREAT | O_CLOEXEC, 0444));
  if (!file.valid() ||
      ::write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    return FailErrno("write a temporary file", errno);
  }
  Fd tree(static_cast<int>(
      ::syscall(SYS_open_tree, mount.get(), "params", 1U /* OPEN_TREE_CLONE */ | O_CLOEXEC)));
  if (!tree.valid()) {
    return FailErrno("open a temporary file", errno);
  }
  return tree;
}

// The driver makes device nodes for every root process that opens it, unless its parameter file
// disables that: otherwise nvidia-smi in a container would make the nodes of every GPU.
Status DisableDeviceNodeModification(const ContainerRoot& root) {
  constexpr std::string_view kSwitch = "ModifyDeviceFiles: ";
  Result<std::string> text = ReadFile(kDriverParameters);
  const size_t at = text ? text->find(kSwitch) : std::string::npos;
  if (at == std::string::npos || text->substr(at + kSwitch.size(), 1) != "1") {
    return {};
  }
  const auto target = root.OpenAt(kDriverParameters, O_PATH);
  if (!target) {
    return {};  // a container without the driver's /proc folder
  }
  text->replace(at + kSwitch.size(), 1, "0");
  TRY_ASSIGN(const Fd file, DetachedFile(*text));
  constexpr unsigned kEmptyPaths = 0x4 | 0x40;  // MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH
  if (::syscall(SYS_move_mount, file.get(), "", target->get(), "", kEmptyPaths) != 0) {
    return FailErrno("replace " + std::string(kDriverParameters), errno);
  }
  return {};
}

Status WriteProfile(const ContainerRoot& root, const std::string& profile) {
  if (root.Read(kApplicationProfile).value_or("") == profile) {
    return {};
  }
  TRY(root.Write(kApplicationProfile, {profile}, {.file = 0444, .folder = 0555}));
  return root.ChangeMode(ParentOf(kApplicationProfile), 0555);
}

// The device node that a link must point to, as the container spells it.
std::string DeviceOf(const SymbolicLink& link) {
  const std::string folder = ParentOf(link.path);
  if (link.target.starts_with("../")) {
    return JoinPath(ParentOf(folder), link.target.substr(3));
  }
  return link.target.starts_with("/") ? link.target : JoinPath(folder, link.target);
}

// A variable that enables something for the hooks, under either of its names.
bool Switched(const char* name, const char* other_name) {
  for (const char* each : {name, other_name}) {
    const char* value = std::getenv(each);
    if (value != nullptr && ParseBool(value).value_or(false)) {
      return true;
    }
  }
  return false;
}

// The links of a step: all at once, and one by one if a container can start without one of them.
Status MakeLinks(HookStep step, const std::vector<SymbolicLink>& links, const ContainerRoot& root,
                 std::vector<std::string>& warnings) {
  Status done = root.Link(links);
  if (!done && Settle(step, done, warnings)) {
    for (const SymbolicLink& link : links) {
      done = root.Link({link});  // the first failure is already logged
    }
    return {};
  }
  return done;
}

Status MakeAllLinks(const HookRequest& request, std::vector<SymbolicLink> sonames,
                    const ContainerRoot& root, std::vector<std::string>& warnings) {
  std::ranges::copy(request.links, std::back_inserter(sonames));
  std::vector<SymbolicLink> driver;
  std::vector<SymbolicLink> graphics;
  driver.reserve(sonames.size());
  for (SymbolicLink& link : sonames) {
    const bool draws = StepOf(link) == HookStep::kGraphicsLinks;
    (draws ? graphics : driver).push_back(std::move(link));
  }
  TRY(MakeLinks(HookStep::kDriverLinks, driver, root, warnings));
  TRY(MakeLinks(HookStep::kGraphicsLinks, graphics, root, warnings));
  std::vector<SymbolicLink> devices;
  std::ranges::copy_if(request.device_links, std::back_inserter(devices),
                       [&](const SymbolicLink& link) { return root.Exists(DeviceOf(link)); });
  TRY(MakeLinks(HookStep::kDeviceLinks, devices, root, warnings));
  for (const SymbolicLink& link : request.links_if_absent) {
    if (!root.Exists(link.path)) {
      TRY(MakeLinks(HookStep::kCudaLinks, {link}, root, warnings));
    }
  }
  return {};
}

}  // namespace

Status RunHook(const HookRequest& request, const ContainerRoot& root,
               std::vector<std::string>& warnings) {
  LibraryNames driver = NamesOf(request.libraries, request.links);
  TRY(MakeAllLinks(request, std::move(driver.links), root, warnings));
  for (const std::string& path : request.paths) {
    const Status done = root.ChangeMode(path, request.mode);
    const bool there = done || done.error().kind != ErrorKind::kNotFound;  // not in every container
    TRY(there ? Settle(HookStep::kModes, done, warnings) : Status{});
  }
  TRY(UpdateLibraries(request, driver.libraries, root, warnings));
  if (request.disable_device_node_modification) {
    TRY(Settle(HookStep::kDeviceFiles, DisableDeviceNodeModification(root), warnings));
  }
  if (request.update_application_profile) {
    const std::string profile = ApplicationProfile(root.List("/dev"));
    // Without a GPU there is nothing to hide, and a read-only image is not changed.
    TRY(Settle(HookStep::kProfile, profile.empty() ? Status{} : WriteProfile(root, profile),
               warnings));
  }
  return {};
}

Result<std::string> RootFromState(std::string_view state) {
  TRY_ASSIGN(const Json json, ParseJson(state));
  if (std::string root = TextAt(json, "root"); !root.empty()) {
    return root;  // crun reports it
  }
  const std::string bundle = TextAt(json, "bundle");
  TRY_ASSIGN(const std::string text, ReadFile(JoinPath(bundle, "config.json")));
  const std::string path = container::OciRootPath(text);
  if (path.empty()) {
    return Fail(ErrorKind::kInvalid, format("read {}/config.json: root.path is not there", bundle));
  }
  return path.front() == '/' ? path : JoinPath(bundle, path);
}

std::optional<ContainerRoot> RootFromWorkingFolder(const HookRequest& request) {
  struct stat here{};
  struct stat top{};
  if (request.libraries.empty() || ::stat(".", &here) != 0 || ::stat("/", &top) != 0 ||
      (here.st_dev == top.st_dev && here.st_ino == top.st_ino)) {
    return std::nullopt;
  }
  auto root = ContainerRoot::Open(".");
  const auto library = root ? root->OpenAt(request.libraries.front().path, O_PATH)
                            : Result<Fd>(std::unexpected(root.error()));
  struct statx mount{};
  const bool mounted = library &&
                       ::statx(library->get(), "", AT_EMPTY_PATH, STATX_TYPE, &mount) == 0 &&
                       (mount.stx_attributes & kIsMountRoot) != 0;
  return mounted ? std::optional(*std::move(root)) : std::nullopt;
}

int RunCdiHook(const std::string& name, const std::vector<std::string>& words) {
  const auto report = [&](std::string_view text) {
    std::fprintf(stderr, "%s: %.*s\n", name.c_str(), static_cast<int>(text.size()), text.data());
  };
  const bool quiet = Switched("NVIDIA_CTK_QUIET", "NVIDIA_CDI_QUIET");
  const bool debug = Switched("NVIDIA_CTK_DEBUG", "NVIDIA_CDI_DEBUG");
  const auto request = ParseHookArguments(words);
  if (!request) {
    report(request.error().message);
    return 1;
  }
  if (!request->known) {
    report(format("hook {} is not known or has an unknown flag; nothing is done", request->name));
    return 0;
  }
  if (request->name == "noop") {
    return 0;
  }
  if (debug) {
    report(Join(words, " "));
  }
  std::vector<std::string> warnings;
  const Status done = [&]() -> Status {
    const std::string& file = request->state_file;
    const bool piped = file.empty() || file == "-";
    if (const auto root = piped ? RootFromWorkingFolder(*request) : std::nullopt) {
      return RunHook(*request, *root, warnings);
    }
    TRY_ASSIGN(const std::string state,
               piped ? ReadDescriptor(STDIN_FILENO, "standard input") : ReadFile(file));
    TRY_ASSIGN(const std::string path, RootFromState(state));
    TRY_ASSIGN(const ContainerRoot root, ContainerRoot::Open(path));
    return RunHook(*request, root, warnings);
  }();
  if (!quiet) {
    std::ranges::for_each(warnings, report);
  }
  if (!done) {
    report(done.error().message);
    return 1;
  }
  return 0;
}

}  // namespace gantry::container_runtime
