// SPDX-License-Identifier: Apache-2.0
// Which parts of an NVIDIA driver does this node have: libraries, nvidia-smi, device nodes, kernel
// module, and the GPUs on the PCI bus? The folders searched are those that NVIDIA's own programs
// search, in their order, then those that the linker's cache names and those of Talos; links are
// followed inside their own root, because a driver's links are often absolute (Debian's
// alternatives).
#include "host/driver_root.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "elf/library_cache.h"
#include "host/files.h"
#include "host/kernel_modules.h"
#include "host/pci.h"

namespace gantry::host {
namespace {

constexpr char kLibrary[] = "libnvidia-ml.so.1";
constexpr char kWslFolder[] = "/usr/lib/wsl/lib";
constexpr std::array kLibraryFolders = {"/",
                                        "/usr/lib64",
                                        "/usr/lib/x86_64-linux-gnu",
                                        "/usr/lib/aarch64-linux-gnu",
                                        "/lib64",
                                        "/lib/x86_64-linux-gnu",
                                        "/lib/aarch64-linux-gnu"};
constexpr std::array kProgramFolders = {"/usr/bin",         "/usr/sbin", "/bin",          "/sbin",
                                        "/usr/lib/wsl/lib", "/opt/bin",  "/usr/local/bin"};

// The path, inside the root, of the file that `host_path` leads to, if that is a regular file that
// is not empty (and is executable, if `program`); else "".
std::string FileInRoot(const std::string& root, const std::string& host_path, bool program) {
  const Result<std::string> path = ResolveInRoot(root, host_path);
  struct stat info{};
  if (!path || stat(path->c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0 ||
      (program && (info.st_mode & 0111) == 0)) {
    return "";
  }
  return WithoutRoot(root, *path).value_or("");
}

// "libnvidia-ml.so.535.247.01" -> "535.247.01"; "" when the name ends in ".so.1".
std::string VersionInName(std::string_view name) {
  const size_t so = name.find(".so.");
  if (so == std::string_view::npos) {
    return "";
  }
  const std::string_view version = name.substr(so + 4);
  return version.find('.') == std::string_view::npos ? "" : std::string(version);
}

// The library in the first of the folders that has it; else "".
template <typename Folders>
std::string LibraryIn(const std::string& root, const Folders& folders) {
  for (const auto& folder : folders) {
    if (std::string library = FileInRoot(root, JoinPath(folder, kLibrary), false);
        !library.empty()) {
      return library;
    }
  }
  return "";
}

DriverTree ObserveTree(const std::string& root) {
  DriverTree tree;
  for (const char* folder : kProgramFolders) {
    tree.nvidia_smi = FileInRoot(root, JoinPath(folder, "nvidia-smi"), true);
    if (!tree.nvidia_smi.empty()) {
      break;
    }
  }
  tree.library = LibraryIn(root, kLibraryFolders);
  if (tree.library.empty()) {
    tree.library = LibraryIn(root, elf::CachedFolders(root, kLibrary));
  }
  if (tree.library.empty()) {
    tree.library = LibraryIn(root, elf::kExtensionFolders);
  }
  tree.library_version = VersionInName(BaseName(tree.library));
  return tree;
}

bool IsDevice(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISCHR(info.st_mode);
}

DriverNodes ObserveNodes(const std::string& dev) {
  DriverNodes nodes = {.control = IsDevice(JoinPath(dev, "nvidiactl")),
                       .uvm = IsDevice(JoinPath(dev, "nvidia-uvm")),
                       .gpus = {}};
  for (const std::string& name : ListDirectory(dev).value_or(std::vector<std::string>())) {
    if (!name.starts_with("nvidia") || !IsDevice(JoinPath(dev, name))) {
      continue;
    }
    if (const Result<long long> minor = ParseInt(name.substr(6))) {
      nodes.gpus.push_back(static_cast<int>(*minor));
    }
  }
  std::ranges::sort(nodes.gpus);
  return nodes;
}

// Loaded, not loaded, or not visible from here.
std::optional<bool> ModuleLoaded(const std::string& proc, const std::string& sys) {
  if (access(JoinPath(sys, "module/nvidia/refcnt").c_str(), F_OK) == 0) {
    return true;
  }
  const Result<std::vector<KernelModule>> modules = LoadedModules(proc);
  if (!modules) {
    return std::nullopt;
  }
  return std::ranges::any_of(*modules,
                             [](const KernelModule& each) { return each.name == "nvidia"; });
}

}  // namespace

DriverObservation ObserveDriver(const DriverPlaces& places) {
  const std::string proc = JoinPath(places.host_root, "proc");
  const std::string sys = JoinPath(places.host_root, "sys");
  DriverObservation seen;
  seen.host_root = places.host_root;
  seen.driver_dir = places.driver_dir;
  seen.container_ready = places.container_ready;
  seen.container_failure = places.container_failure;
  seen.wsl = !FileInRoot(places.host_root, JoinPath(kWslFolder, "nvidia-smi"), false).empty();
  seen.host = ObserveTree(places.host_root);
  seen.host_nodes = ObserveNodes(JoinPath(places.host_root, "dev"));

  const std::string container = JoinPath(places.host_root, places.driver_dir);
  seen.container = ObserveTree(container);
  seen.container_has_dev =
      Inspect(JoinPath(container, "dev")).value_or(FileInfo()).kind == FileKind::kDirectory;
  seen.container_nodes = ObserveNodes(JoinPath(container, "dev"));

  const std::string version = JoinPath(proc, "driver/nvidia/version");
  seen.module_version = ParseDriverVersion(ReadFile(version).value_or(""));
  seen.module_gpus = DrivenGpus(proc);
  seen.module_loaded = seen.module_version.empty() ? ModuleLoaded(proc, sys) : true;

  for (const PciFunction& function : ListPci(sys).value_or(std::vector<PciFunction>())) {
    if (IsNvidiaGpu(function) && !function.virtual_function) {
      ++seen.gpus_by_driver[function.driver];
    }
  }
  return seen;
}

std::vector<std::string> DriverPathsToWatch(const DriverPlaces& places) {
  std::vector<std::string> paths = {JoinPath(places.host_root, "dev")};
  for (const std::string& root :
       {places.host_root, JoinPath(places.host_root, places.driver_dir)}) {
    std::vector<std::string> folders(kLibraryFolders.begin(), kLibraryFolders.end());
    folders.insert(folders.end(), elf::kExtensionFolders.begin(), elf::kExtensionFolders.end());
    for (const std::string& folder : folders) {
      if (const Result<std::string> resolved = ResolveInRoot(root, folder)) {
        paths.push_back(JoinPath(*resolved, kLibrary));
      }
    }
    paths.push_back(JoinPath(root, elf::kLinkerCache));
  }
  std::ranges::sort(paths);
  const auto repeated = std::ranges::unique(paths);
  paths.erase(repeated.begin(), repeated.end());
  return paths;
}

}  // namespace gantry::host
