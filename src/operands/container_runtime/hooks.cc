// SPDX-License-Identifier: Apache-2.0
// What is done in a container's root file system between the mounts and the start of its program: a
// createContainer hook of the OCI runtime specification. It runs in the container's namespaces with
// the host's file system still in sight.
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
#include <unordered_set>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/driver_files.h"
#include "container/oci_root.h"
#include "operands/container_runtime/application_profile.h"
#include "operands/container_runtime/cuda_compat.h"

namespace gantry::container_runtime {
namespace {

constexpr char kApplicationProfile[] =
    "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf";
constexpr char kConfig[] = "/etc/ld.so.conf";
constexpr char kConfigFolder[] = "/etc/ld.so.conf.d";
// With NVIDIA's hook the rest of its name is another one each time.
constexpr std::string_view kCompatStem = "00-compat-";
constexpr uint64_t kIsMountRoot = 0x2000;  // STATX_ATTR_MOUNT_ROOT, which musl's headers lack
constexpr char kDriverParameters[] = "/proc/driver/nvidia/params";
#if defined(__aarch64__)
constexpr char kMuslPath[] = "/etc/ld-musl-aarch64.path";
#else
constexpr char kMuslPath[] = "/etc/ld-musl-x86_64.path";
#endif

// "/usr/lib/x" and "/lib/x" are one folder in every image with merged /usr.
std::string_view WithoutUsr(std::string_view folder) {
  return folder.starts_with("/usr/lib") ? folder.substr(4) : folder;
}

// Libraries in a folder that the cache does not list yet: lib*.so*, as ldconfig takes them.
std::vector<CachedLibrary> SearchFolder(const ContainerRoot& root, const std::string& folder,
                                        const std::unordered_set<std::string_view>& cached) {
  std::vector<CachedLibrary> found;
  for (const std::string& name : root.List(folder)) {
    const std::string path = JoinPath(folder, name);
    const bool library = name.starts_with("lib") && name.find(".so") != std::string::npos;
    if (!library || cached.contains(path) || cached.contains(WithoutUsr(path))) {
      continue;
    }
    const auto fd = root.OpenAt(path, O_RDONLY | O_NOFOLLOW);
    if (!fd) {
      continue;  // a link: what it points to is listed by its own name
    }
    std::string soname = container::ReadSoname(format("/proc/self/fd/{}", fd->get()));
    const std::string cached_name = JoinPath(folder, soname);
    if (!soname.empty() && !cached.contains(cached_name) &&
        !cached.contains(WithoutUsr(cached_name))) {
      found.push_back({std::move(soname), path});
    }
  }
  return found;
}

// Gives libraries the paths of their SONAMEs, and returns the links which make those, as ldconfig
// does.
std::vector<SymbolicLink> NameBySoname(std::vector<CachedLibrary>& libraries) {
  std::vector<SymbolicLink> links;
  for (CachedLibrary& library : libraries) {
    std::string file = BaseName(library.path);
    if (library.soname != file) {
      library.path = JoinPath(ParentOf(library.path), library.soname);
      links.push_back({std::move(file), library.path});
    }
  }
  return links;
}

// Programs that run ldconfig inside the container later must find the folders too.
Status ListFolders(const ContainerRoot& root, const std::string& name,
                   const std::vector<std::string>& folders) {
  if (folders.empty()) {
    return {};
  }
  if (!root.Exists(kConfig)) {
    TRY(root.Write(kConfig, {"include /etc/ld.so.conf.d/*.conf\n"}));
  }
  return root.Write(JoinPath(kConfigFolder, name), {Join(folders, "\n"), "\n"});
}

std::vector<std::string> FoldersOf(const std::vector<CachedLibrary>& libraries,
                                   const std::vector<std::string>& also) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& folder) {
    if (std::ranges::find(folders, folder) == folders.end()) {
      folders.push_back(folder);
    }
  };
  for (const CachedLibrary& library : libraries) {
    add(ParentOf(library.path));
  }
  std::ranges::for_each(also, add);
  return folders;
}

// musl has no cache: a file of folders, which replaces the built-in list when it exists.
Status UpdateMusl(const ContainerRoot& root, const std::vector<std::string>& folders) {
  std::string text = root.Read(kMuslPath).value_or("/lib\n/usr/local/lib\n/usr/lib\n");
  const std::string before = text;
  for (const std::string& folder : folders) {
    if (("\n" + text).find("\n" + folder + "\n") == std::string::npos) {
      text += (text.ends_with("\n") ? "" : "\n") + folder + "\n";
    }
  }
  return text == before ? Status{} : root.Write(kMuslPath, {text});
}

// Whether the cache has libraries of a folder: then ldconfig finds it without being told.
bool Lists(const LibraryCache& cache, std::string_view folder) {
  const std::string_view wanted = WithoutUsr(folder);
  return std::ranges::any_of(cache.names(), [&](const CachedName& library) {
    const std::string_view path = WithoutUsr(library.path);
    return path.starts_with(wanted) && path.rfind('/') == wanted.size();
  });
}

// The libraries of a CUDA toolkit that the image lacks: none if it has a CUDA runtime, which the
// others would be mixed with.
std::vector<CachedLibrary> LackingCuda(const HookRequest& request, const LibraryCache& cache) {
  constexpr std::string_view kRuntime = "libcudart.so";
  if (request.cuda_libraries.empty()) {
    return {};
  }
  std::unordered_set<std::string_view> own;
  for (const CachedName& each : cache.names()) {
    if (each.soname.starts_with(kRuntime)) {
      return {};
    }
    own.insert(each.soname);
  }
  std::vector<CachedLibrary> lacking;
  std::ranges::copy_if(request.cuda_libraries, std::back_inserter(lacking),
                       [&](const CachedLibrary& library) { return !own.contains(library.soname); });
  return lacking;
}

// What enable-cuda-compat has put into the cache, if it ran as a hook of its own: the driver's
// libraries must not come before it again.
std::vector<CachedLibrary> CompatBefore(const ContainerRoot& root, const LibraryCache& cache) {
  std::vector<CachedLibrary> libraries;
  for (const std::string& name : root.List(kConfigFolder)) {
    if (!name.starts_with(kCompatStem)) {
      continue;
    }
    const std::string text = root.Read(JoinPath(kConfigFolder, name)).value_or("");
    const std::string_view folder = Trim(text);
    if (folder.empty()) {
      continue;
    }
    for (const CachedName& each : cache.names()) {
      if (ParentOf(each.path) == folder) {
        libraries.push_back({std::string(each.soname), std::string(each.path)});
      }
    }
  }
  return libraries;
}

// `driver`: the driver's libraries, by the SONAMEs that they are linked to.
Status UpdateLibraries(const HookRequest& request, const std::vector<CachedLibrary>& driver,
                       const ContainerRoot& root, std::vector<std::string>& warnings) {
  std::vector<CachedLibrary> compat =
      request.cuda_compat ? CompatLibraries(root, request.compat_folder,
                                            request.host_driver_version, request.host_cuda_version)
                          : std::vector<CachedLibrary>{};
  if (compat.empty() && driver.empty() && request.folders.empty() &&
      request.cuda_libraries.empty()) {
    return {};
  }
  if (root.Exists("/etc/alpine-release")) {
    return UpdateMusl(root, FoldersOf(driver, request.folders));
  }
  const std::string before = root.Read(kLinkerCache).value_or("");
  const auto cache = LibraryCache::Read(before);
  if (!cache) {
    warnings.push_back(cache.error().message);
    return {};
  }
  const bool decided_before = !request.cuda_compat && !request.folders.empty();
  if (decided_before) {
    compat = CompatBefore(root, *cache);
  }
  std::vector<CachedLibrary> libraries = compat;
  libraries.insert(libraries.end(), driver.begin(), driver.end());
  if (!request.folders.empty()) {
    std::unordered_set<std::string_view> cached;
    for (const CachedName& library : cache->names()) {
      cached.insert(library.path);
    }
    for (const std::string& folder : request.folders) {
      std::ranges::copy(SearchFolder(root, folder, cached), std::back_inserter(libraries));
    }
  }
  TRY(root.Link(NameBySoname(libraries)));
  std::vector<std::string> folders = FoldersOf(libraries, {});
  std::erase_if(folders, [&](const std::string& folder) {
    return folder == request.compat_folder || Lists(*cache, folder);
  });
  TRY(ListFolders(root, "00-nvidia-driver.conf", folders));
  if (!compat.empty() && !decided_before) {
    TRY(ListFolders(root, std::string(kCompatStem) + "cuda.conf", {request.compat_folder}));
  }
  const std::vector<CachedLibrary> cuda = LackingCuda(request, *cache);
  TRY(ListFolders(root, "zz-cuda-toolkit.conf", FoldersOf(cuda, {})));
  std::ranges::copy(cuda, std::back_inserter(libraries));
  if (cache->Has(libraries)) {
    return {};
  }
  const CacheBytes after = cache->With(libraries);
  return root.Write(kLinkerCache, {after.entries, after.texts, after.added});
}

// A file with that content which lies in no folder: on a tmpfs that is mounted nowhere.
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

// The driver makes device nodes for whoever opens it as root, unless its parameter file says no:
// then nvidia-smi in a container would make the nodes of every GPU.
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

// The device node that a link is to point to, as the container spells it.
std::string DeviceOf(const SymbolicLink& link) {
  const std::string folder = ParentOf(link.path);
  if (link.target.starts_with("../")) {
    return JoinPath(ParentOf(folder), link.target.substr(3));
  }
  return link.target.starts_with("/") ? link.target : JoinPath(folder, link.target);
}

// A variable that switches something on for the hooks, under either of its names.
bool Switched(const char* name, const char* other_name) {
  for (const char* each : {name, other_name}) {
    const char* value = std::getenv(each);
    if (value != nullptr && ParseBool(value).value_or(false)) {
      return true;
    }
  }
  return false;
}

Status MakeLinks(const HookRequest& request, std::vector<SymbolicLink> links,
                 const ContainerRoot& root) {
  links.insert(links.end(), request.links.begin(), request.links.end());
  std::ranges::copy_if(request.device_links, std::back_inserter(links),
                       [&](const SymbolicLink& link) { return root.Exists(DeviceOf(link)); });
  TRY(root.Link(links));
  for (const SymbolicLink& link : request.links_if_absent) {
    if (!root.Exists(link.path)) {
      TRY(root.Link({link}));
    }
  }
  return {};
}

}  // namespace

Status RunHook(const HookRequest& request, const ContainerRoot& root,
               std::vector<std::string>& warnings) {
  std::vector<CachedLibrary> driver = request.libraries;
  TRY(MakeLinks(request, NameBySoname(driver), root));
  for (const std::string& path : request.paths) {
    // Not in every container, and not to be changed where /dev is the host's.
    if (const Status done = root.ChangeMode(path, request.mode);
        !done && done.error().kind != ErrorKind::kNotFound) {
      if (done.error().kind != ErrorKind::kDenied) {
        return done;
      }
      warnings.push_back(done.error().message);
    }
  }
  TRY(UpdateLibraries(request, driver, root, warnings));
  if (request.disable_device_node_modification) {
    if (const Status done = DisableDeviceNodeModification(root); !done) {
      warnings.push_back(done.error().message);
    }
  }
  if (request.update_application_profile) {
    const std::string profile = ApplicationProfile(root.List("/dev"));
    // Without a GPU there is nothing to hide, and a read-only image stays as it is.
    if (const Status done = profile.empty() ? Status{} : WriteProfile(root, profile); !done) {
      warnings.push_back(done.error().message);
    }
  }
  return {};
}

Result<std::string> RootFromState(std::string_view state) {
  TRY_ASSIGN(const Json json, ParseJson(state));
  if (std::string root = TextAt(json, "root"); !root.empty()) {
    return root;  // crun says it
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
