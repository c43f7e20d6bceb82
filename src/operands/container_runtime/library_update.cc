// SPDX-License-Identifier: Apache-2.0
// How are the linker's cache of a container, its list of folders, and the links in those folders
// updated? As ldconfig does, but without reading any other library of the image.
#include "operands/container_runtime/library_update.h"

#include <fcntl.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <string_view>
#include <unordered_set>

#include "base/paths.h"
#include "base/text.h"
#include "elf/soname.h"
#include "operands/container_runtime/cuda_compat.h"
#include "operands/container_runtime/hook_steps.h"
#include "operands/container_runtime/library_names.h"

namespace gantry::container_runtime {
namespace {

constexpr char kConfig[] = "/etc/ld.so.conf";
constexpr char kConfigFolder[] = "/etc/ld.so.conf.d";
// NVIDIA's hook uses a new suffix for its name each time.
constexpr std::string_view kCompatStem = "00-compat-";
#if defined(__aarch64__)
constexpr char kMuslPath[] = "/etc/ld-musl-aarch64.path";
#else
constexpr char kMuslPath[] = "/etc/ld-musl-x86_64.path";
#endif

// "/usr/lib/x" and "/lib/x" are one folder in every image with merged /usr.
std::string_view WithoutUsr(std::string_view folder) {
  return folder.starts_with("/usr/lib") ? folder.substr(4) : folder;
}

using Paths = std::unordered_set<std::string_view>;

bool Contains(const Paths& cached, std::string_view path) {
  return cached.contains(path) || cached.contains(WithoutUsr(path));
}

// A folder while it is read: the names and SONAMEs that `files` refers to.
struct ReadFolder {
  std::vector<FolderEntry> entries;
  std::deque<std::string> sonames = {};
  std::vector<LibraryFile> files = {};
};

// Adds a library of the folder; false if a link is dangling (yet).
bool AddFile(const ContainerRoot& root, const std::string& folder, const FolderEntry& entry,
             ReadFolder& read) {
  const bool link = entry.kind == FolderEntry::Kind::kLink;
  const auto fd = root.OpenAt(JoinPath(folder, entry.name), O_RDONLY | O_NONBLOCK);
  if (!fd) {
    return !link;
  }
  if (auto object = elf::ReadSharedObject(format("/proc/self/fd/{}", fd->get()))) {
    read.sonames.push_back(std::move(object->soname));
    read.files.push_back({entry.name, read.sonames.back(), link, object->narrow});
  } else if (!link) {
    read.files.push_back({.name = entry.name, .library = false});
  }
  return true;
}

// Without those that already lead to their file, by any way.
std::vector<SymbolicLink> Missing(const ContainerRoot& root, std::vector<SymbolicLink> links) {
  std::erase_if(links, [&](const SymbolicLink& link) {
    return root.SameFile(link.path, JoinPath(ParentOf(link.path), link.target));
  });
  return links;
}

// Makes the links that ldconfig would make in a folder, and adds the names that it would list to
// `libraries`, except those already in the cache.
Status SearchFolder(const ContainerRoot& root, const std::string& folder, const Paths& cached,
                    std::vector<elf::CachedLibrary>& libraries,
                    std::vector<std::string>& warnings) {
  ReadFolder read = {root.Entries(folder)};
  std::vector<const FolderEntry*> hanging;
  for (const FolderEntry& entry : read.entries) {
    if (!IsLibraryName(entry.name) || entry.kind == FolderEntry::Kind::kOther) {
      continue;
    }
    if (Contains(cached, JoinPath(folder, entry.name))) {
      if (entry.kind == FolderEntry::Kind::kFile) {
        read.files.push_back({.name = entry.name, .library = false});
      }
    } else if (!AddFile(root, folder, entry, read)) {
      hanging.push_back(&entry);
    }
  }
  LibraryNames names = NamesIn(folder, read.files);
  const std::vector<SymbolicLink> made = Missing(root, names.links);
  const Status linked = root.Link(made);
  TRY(Settle(HookStep::kFolderLinks, linked, warnings));
  // "libcuda.so" leads to "libcuda.so.1", which was only made now.
  if (!made.empty() && !hanging.empty()) {
    for (const FolderEntry* entry : hanging) {
      AddFile(root, folder, *entry, read);
    }
    names = NamesIn(folder, read.files);
  }
  for (elf::CachedLibrary& library : names.libraries) {
    if (Contains(cached, library.path)) {
      continue;
    }
    const auto link = std::ranges::find(made, library.path, &SymbolicLink::path);
    if (!linked && link != made.end()) {
      library.path = JoinPath(folder, link->target);  // a cache needs no link
    }
    libraries.push_back(std::move(library));
  }
  return {};
}

// A later ldconfig inside the container must find the folders too.
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

std::vector<std::string> FoldersOf(const std::vector<elf::CachedLibrary>& libraries,
                                   const std::vector<std::string>& also) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& folder) {
    if (std::ranges::find(folders, folder) == folders.end()) {
      folders.push_back(folder);
    }
  };
  for (const elf::CachedLibrary& library : libraries) {
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

// Whether the cache has libraries of a folder: then ldconfig searches it anyway.
bool Lists(const elf::LibraryCache& cache, std::string_view folder) {
  const std::string_view wanted = WithoutUsr(folder);
  return std::ranges::any_of(cache.names(), [&](const elf::CachedName& library) {
    const std::string_view path = WithoutUsr(library.path);
    return path.starts_with(wanted) && path.rfind('/') == wanted.size();
  });
}

// The libraries of a CUDA toolkit that the image lacks: none if it has a CUDA runtime, because the
// two must not be mixed.
std::vector<elf::CachedLibrary> LackingCuda(const HookRequest& request,
                                            const elf::LibraryCache& cache) {
  constexpr std::string_view kRuntime = "libcudart.so";
  if (request.cuda_libraries.empty()) {
    return {};
  }
  std::unordered_set<std::string_view> own;
  for (const elf::CachedName& each : cache.names()) {
    if (each.soname.starts_with(kRuntime)) {
      return {};
    }
    own.insert(each.soname);
  }
  std::vector<elf::CachedLibrary> lacking;
  std::ranges::copy_if(
      request.cuda_libraries, std::back_inserter(lacking),
      [&](const elf::CachedLibrary& library) { return !own.contains(library.soname); });
  return lacking;
}

// The entries that enable-cuda-compat added to the cache, if it ran as a separate hook: they must
// stay before the driver's libraries.
std::vector<elf::CachedLibrary> CompatBefore(const ContainerRoot& root,
                                             const elf::LibraryCache& cache) {
  std::vector<elf::CachedLibrary> libraries;
  for (const std::string& name : root.List(kConfigFolder)) {
    if (!name.starts_with(kCompatStem)) {
      continue;
    }
    const std::string text = root.Read(JoinPath(kConfigFolder, name)).value_or("");
    const std::string_view folder = Trim(text);
    if (folder.empty()) {
      continue;
    }
    for (const elf::CachedName& each : cache.names()) {
      if (ParentOf(each.path) == folder) {
        libraries.push_back({std::string(each.soname), std::string(each.path)});
      }
    }
  }
  return libraries;
}

// The libraries that SearchFolder finds in the folders of a request.
Status SearchFolders(const HookRequest& request, const ContainerRoot& root,
                     const elf::LibraryCache& cache, std::vector<elf::CachedLibrary>& libraries,
                     std::vector<std::string>& warnings) {
  if (request.folders.empty()) {
    return {};
  }
  Paths cached;
  for (const elf::CachedName& library : cache.names()) {
    cached.insert(library.path);
  }
  for (const std::string& folder : request.folders) {
    TRY(SearchFolder(root, folder, cached, libraries, warnings));
  }
  return {};
}

}  // namespace

Status UpdateLibraries(const HookRequest& request, const std::vector<elf::CachedLibrary>& driver,
                       const ContainerRoot& root, std::vector<std::string>& warnings) {
  std::vector<elf::CachedLibrary> compat =
      request.cuda_compat ? CompatLibraries(root, request.compat_folder,
                                            request.host_driver_version, request.host_cuda_version)
                          : std::vector<elf::CachedLibrary>{};
  if (compat.empty() && driver.empty() && request.folders.empty() &&
      request.cuda_libraries.empty()) {
    return {};
  }
  const bool musl = root.Exists("/etc/alpine-release");
  const std::string before = musl ? "" : root.Read(elf::kLinkerCache).value_or("");
  const auto cache = elf::LibraryCache::Read(before);
  if (!cache) {
    return Settle(HookStep::kLinkerCache, std::unexpected(cache.error()), warnings);
  }
  const bool decided_before = !request.cuda_compat && !request.folders.empty();
  if (decided_before) {
    compat = CompatBefore(root, *cache);
  }
  std::vector<elf::CachedLibrary> libraries = compat;
  libraries.insert(libraries.end(), driver.begin(), driver.end());
  TRY(SearchFolders(request, root, *cache, libraries, warnings));
  if (musl) {
    return Settle(HookStep::kMuslFolders, UpdateMusl(root, FoldersOf(driver, request.folders)),
                  warnings);
  }
  const auto list = [&](const std::string& name, const std::vector<std::string>& folders) {
    return Settle(HookStep::kLinkerFolders, ListFolders(root, name, folders), warnings);
  };
  std::vector<std::string> folders = FoldersOf(libraries, {});
  std::erase_if(folders, [&](const std::string& folder) {
    return folder == request.compat_folder || Lists(*cache, folder);
  });
  TRY(list("00-nvidia-driver.conf", folders));
  if (!compat.empty() && !decided_before) {
    TRY(list(std::string(kCompatStem) + "cuda.conf", {request.compat_folder}));
  }
  const std::vector<elf::CachedLibrary> cuda = LackingCuda(request, *cache);
  TRY(list("zz-cuda-toolkit.conf", FoldersOf(cuda, {})));
  std::ranges::copy(cuda, std::back_inserter(libraries));
  if (cache->Has(libraries)) {
    return {};
  }
  const elf::CacheBytes after = cache->With(libraries);
  return Settle(HookStep::kLinkerCache,
                root.Write(elf::kLinkerCache, {after.entries, after.texts, after.added}), warnings);
}

}  // namespace gantry::container_runtime
