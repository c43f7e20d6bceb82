// SPDX-License-Identifier: Apache-2.0
// How is CUDA copied to a node? A copy is made under another name and renamed once its bytes are on
// the disk. Its own name has a fingerprint of its content, so that an existing copy is not made
// again, but a damaged one is.
#include "operands/cuda_toolkit/copy.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"

namespace gantry::cuda_toolkit {
namespace {

namespace fs = std::filesystem;

constexpr char kUnfinished[] = ".unfinished";

std::vector<std::string> PlacesOf(std::string_view release) {
  return {format("/usr/local/cuda-{}", release), "/usr/local/cuda", format("/cuda-{}", release),
          "/"};
}

// Names in a folder below a root; none if there is no such folder.
std::vector<std::string> NamesIn(const std::string& root, const std::string& folder) {
  const auto here = ResolveInRoot(root, folder);
  return here ? ListDirectory(*here).value_or(std::vector<std::string>{})
              : std::vector<std::string>{};
}

std::string Shown(const std::vector<std::string>& names) {
  return names.empty() ? "nothing" : Join(names, ", ");
}

struct Found {
  std::string path;              // as this process spells it
  std::vector<std::string> own;  // as its links may spell it
  std::string version;
};

Result<Found> FindToolkit(const CopyRequest& request) {
  const std::vector<std::string> places = PlacesOf(ReleaseOf(request.version));
  for (const std::string& place : places) {
    const ToolkitFacts facts = FactsOf(request.from, place);
    const bool last = place == places.back();
    if (facts.entries.empty() || (last && facts.runtimes.empty())) {
      continue;
    }
    auto version = ToolkitVersion(facts, request.version);
    if (!version) {
      return std::unexpected(version.error().In(
          format("copy CUDA {} from {}", request.version, JoinPath(request.from, place))));
    }
    TRY_ASSIGN(std::string path, ResolveInRoot(request.from, place));
    std::vector<std::string> own = {places.begin(), places.end() - 1};
    own.push_back(WithoutRoot(request.from, path).value_or(path));
    return Found{std::move(path), std::move(own), *std::move(version)};
  }
  return Fail(
      ErrorKind::kNotFound,
      format("find CUDA {} in {}: it is not in any of {}; the folder holds {}; its "
             "usr/local holds {}",
             request.version, request.from, Join(places, ", "), Shown(NamesIn(request.from, "/")),
             Shown(NamesIn(request.from, "/usr/local"))));
}

Status CopyEntry(const std::string& from, const std::string& to, const TreeEntry& entry) {
  const std::string path = JoinPath(to, entry.path);
  if (entry.kind == TreeEntry::Kind::kFolder) {
    return ::mkdir(path.c_str(), 0755) == 0 ? Status{} : FailErrno("make directory " + path, errno);
  }
  if (entry.kind == TreeEntry::Kind::kLink) {
    return ::symlink(entry.target.c_str(), path.c_str()) == 0 ? Status{}
                                                              : FailErrno("link " + path, errno);
  }
  std::error_code failed;
  fs::copy_file(JoinPath(from, entry.path), path, failed);
  if (failed) {
    return FailErrno("copy to " + path, failed.value());
  }
  const std::array<struct timespec, 2> times = {
      {{.tv_sec = entry.modified, .tv_nsec = 0}, {.tv_sec = entry.modified, .tv_nsec = 0}}};
  if (::chmod(path.c_str(), entry.executable ? 0755 : 0644) != 0 ||
      ::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) != 0) {
    return FailErrno("set mode and time of " + path, errno);
  }
  return {};
}

Status CheckRoom(const std::string& folder, long long needed) {
  struct statvfs disk{};
  if (::statvfs(folder.c_str(), &disk) != 0) {
    return FailErrno("look at the disk of " + folder, errno);
  }
  const auto free = static_cast<long long>(disk.f_bavail * disk.f_frsize);
  return needed < free ? Status{}
                       : Fail(ErrorKind::kUnavailable,
                              format("copy CUDA to {}: {} MiB are needed and {} MiB are free",
                                     folder, needed >> 20, free >> 20));
}

// A symbolic link, replaced in one step.
Status TurnLink(const std::string& path, const std::string& target) {
  std::error_code failed;
  if (fs::read_symlink(path, failed) == target) {
    return {};
  }
  const std::string temporary = host::TemporaryPathOf(path);
  TRY(host::RemoveFile(temporary));
  if (::symlink(target.c_str(), temporary.c_str()) != 0 ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    return FailErrno("link " + path, errno);
  }
  return {};
}

Result<Fd> Lock(const std::string& folder) {
  Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::flock(fd.get(), LOCK_EX) != 0) {
    return FailErrno("lock " + folder, errno);
  }
  return fd;
}

// An incomplete copy is renamed, and removed once no container uses it.
Status PutAside(const std::string& path) {
  for (int number = 1;; ++number) {
    const std::string aside = format("{}.damaged-{}", path, number);
    TRY_ASSIGN(const host::FileInfo there, host::Inspect(aside));
    if (there.kind == host::FileKind::kAbsent) {
      return ::rename(path.c_str(), aside.c_str()) == 0 ? Status{}
                                                        : FailErrno("rename " + path, errno);
    }
  }
}

Status WriteCopy(const std::string& from, const Tree& tree, const std::string& path,
                 const Fd& copies) {
  const std::string unfinished = JoinPath(ParentOf(path), kUnfinished);
  if (::mkdir(unfinished.c_str(), 0755) != 0 || ::chmod(unfinished.c_str(), 0755) != 0) {
    return FailErrno("make directory " + unfinished, errno);
  }
  for (const TreeEntry& entry : tree) {
    TRY(CopyEntry(from, unfinished, entry));
  }
  if (::syncfs(copies.get()) != 0 || ::rename(unfinished.c_str(), path.c_str()) != 0 ||
      ::fsync(copies.get()) != 0) {
    return FailErrno("finish " + path, errno);
  }
  return {};
}

}  // namespace

std::string CopiesDir(const std::string& cuda_root) { return JoinPath(cuda_root, "versions"); }

std::string LinkPath(const std::string& cuda_root, std::string_view release) {
  return JoinPath(cuda_root, format("cuda-{}", release));
}

ToolkitFacts FactsOf(const std::string& root, const std::string& path) {
  ToolkitFacts facts;
  facts.entries = NamesIn(root, path);
  if (const auto file = ResolveInRoot(root, JoinPath(path, "version.json"))) {
    facts.version_json = ReadFile(*file).value_or("");
  }
  for (const char* folder : {"lib64", "lib"}) {
    if (facts.runtimes.empty()) {
      facts.runtimes = NamesIn(root, JoinPath(path, folder));
      std::erase_if(facts.runtimes,
                    [](const std::string& name) { return !name.starts_with("libcudart.so"); });
    }
  }
  return facts;
}

Result<Tree> ReadTree(const std::string& folder, const std::vector<std::string>& own) {
  Tree tree;
  std::error_code failed;
  fs::recursive_directory_iterator at(folder, failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    const std::string path = at->path().string();
    TRY_ASSIGN(const host::FileInfo info, host::Inspect(path));
    TreeEntry entry;
    entry.path = path.substr(JoinPath(folder, "/").size());
    switch (info.kind) {
      case host::FileKind::kDirectory:
        entry.kind = TreeEntry::Kind::kFolder;
        break;
      case host::FileKind::kFile:
        entry.size = info.size;
        entry.modified = info.modified_ns / 1'000'000'000;
        entry.executable = (info.mode & 0111) != 0;
        break;
      case host::FileKind::kSymlink:
        entry.kind = TreeEntry::Kind::kLink;
        entry.target = TargetInCopy(entry.path, fs::read_symlink(path, failed).string(), own);
        break;
      default:
        continue;
    }
    tree.push_back(std::move(entry));
  }
  if (failed) {
    return FailErrno("list " + folder, failed.value());
  }
  std::ranges::sort(tree, {}, &TreeEntry::path);
  return tree;
}

Result<Copied> CopyToolkit(const CopyRequest& request) {
  TRY_ASSIGN(const Found found, FindToolkit(request));
  const std::string copies = CopiesDir(request.cuda_root);
  TRY(host::MakeDirectories(copies));
  TRY_ASSIGN(const Fd lock, Lock(copies));
  std::error_code failed;
  fs::remove_all(JoinPath(copies, kUnfinished), failed);  // of a killed one

  TRY_ASSIGN(const Tree tree, ReadTree(found.path, found.own));
  const std::string name = format("{}-{}", found.version, FingerprintOf(tree));
  Copied copied{found.version, JoinPath(copies, name)};
  TRY_ASSIGN(const host::FileInfo there, host::Inspect(copied.path));
  if (there.kind != host::FileKind::kAbsent) {
    const auto before = ReadTree(copied.path, {});
    copied.written = !before || FingerprintOf(*before) != FingerprintOf(tree);
    if (copied.written) {
      TRY(PutAside(copied.path));
    }
  } else {
    copied.written = true;
  }
  if (copied.written) {
    TRY(CheckRoom(copies, SizeOf(tree)));
    if (Status done = WriteCopy(found.path, tree, copied.path, lock); !done) {
      fs::remove_all(JoinPath(copies, kUnfinished), failed);
      return std::unexpected(std::move(done).error());
    }
  }
  TRY(TurnLink(LinkPath(request.cuda_root, ReleaseOf(found.version)), "versions/" + name));
  return copied;
}

}  // namespace gantry::cuda_toolkit
