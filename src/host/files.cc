// SPDX-License-Identifier: Apache-2.0
// How is a file of the node replaced? By writing a new one, syncing it and renaming it, because a
// kubelet or containerd may read it at any moment and the power may fail.
#include "host/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <functional>

#include "base/text.h"

namespace gantry::host {
namespace {

// Makes the temporary file and locks it, open for reading: a second writer waits until the first
// has renamed it, and then makes its own.
Result<Fd> LockTemporary(const std::string& temporary) {
  while (true) {
    Fd fd(::open(temporary.c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    struct stat opened{};
    struct stat named{};
    if (!fd.valid() || ::flock(fd.get(), LOCK_EX) != 0 || ::fstat(fd.get(), &opened) != 0) {
      return FailErrno("write " + temporary, errno);
    }
    if (::stat(temporary.c_str(), &named) != 0 || named.st_ino != opened.st_ino) {
      continue;
    }
    return fd;
  }
}

Status SyncDirectory(const std::string& path) {
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid() || ::fsync(directory.get()) != 0) {
    return FailErrno("sync " + path, errno);
  }
  return {};
}

}  // namespace

Result<FileInfo> Inspect(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return FileInfo{};
    }
    return FailErrno("inspect " + path, errno);
  }
  FileInfo found;
  found.kind = S_ISREG(info.st_mode)   ? FileKind::kFile
               : S_ISDIR(info.st_mode) ? FileKind::kDirectory
               : S_ISLNK(info.st_mode) ? FileKind::kSymlink
                                       : FileKind::kOther;
  found.mode = info.st_mode & 07777;
  found.uid = info.st_uid;
  found.gid = info.st_gid;
  found.size = info.st_size;
  found.modified_ns = info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec;
  return found;
}

std::string TemporaryPathOf(const std::string& path) {
  return JoinPath(ParentOf(path), "." + BaseName(path) + ".new");
}

namespace {

// Writes a file of that name in one step; `fill` gets the descriptor to write to.
Status ReplaceFile(const std::string& path, mode_t mode, const std::function<Status(int)>& fill) {
  TRY_ASSIGN(const FileInfo before, Inspect(path));
  const std::string temporary = TemporaryPathOf(path);
  TRY_ASSIGN(const Fd lock, LockTemporary(temporary));
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) {
    return FailErrno("write " + temporary, errno);
  }
  const bool keep = before.kind == FileKind::kFile;
  Status done = fill(fd.get());
  if (done && keep && ::fchown(fd.get(), before.uid, before.gid) != 0) {
    done = FailErrno("keep the owner of " + path, errno);
  }
  if (done && (::fchmod(fd.get(), keep ? before.mode : mode) != 0 || ::fsync(fd.get()) != 0)) {
    done = FailErrno("write " + path, errno);
  }
  // A program that is open for writing cannot be run, so it is closed before it gets its name.
  fd = Fd();
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0) {
    done = FailErrno("write " + path, errno);
  }
  if (!done) {
    ::unlink(temporary.c_str());
    return done;
  }
  return SyncDirectory(ParentOf(path));
}

// Calls `piece` with the entire content, in order.
Status ReadPieces(const std::string& path, const std::function<Status(std::string_view)>& piece) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return FailErrno("read " + path, errno);
  }
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
    if (size == 0) {
      return {};
    }
    if (size > 0) {
      TRY(piece({buffer.data(), static_cast<size_t>(size)}));
    } else if (errno != EINTR) {
      return FailErrno("read " + path, errno);
    }
  }
}

struct Fnv {
  uint64_t hash = 0xcbf29ce484222325;
  uint64_t size = 0;
  void Add(std::string_view content) {
    for (const char c : content) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
    size += content.size();
  }
  [[nodiscard]] std::string Text() const { return format("{:016x}-{}", hash, size); }
};

}  // namespace

Status WriteFileAtomic(const std::string& path, std::string_view content, mode_t mode) {
  return ReplaceFile(path, mode, [&](int fd) { return WriteDescriptor(fd, content, path); });
}

Status CopyFileAtomic(const std::string& from, const std::string& path, mode_t mode) {
  return ReplaceFile(path, mode, [&](int fd) {
    return ReadPieces(from,
                      [&](std::string_view piece) { return WriteDescriptor(fd, piece, path); });
  });
}

std::string Fingerprint(std::string_view content) {
  Fnv fnv;
  fnv.Add(content);
  return fnv.Text();
}

Result<std::string> FileFingerprint(const std::string& path) {
  Fnv fnv;
  TRY(ReadPieces(path, [&fnv](std::string_view piece) {
    fnv.Add(piece);
    return Status{};
  }));
  return fnv.Text();
}

Result<bool> WriteIfDifferent(const std::string& path, std::string_view content, mode_t mode) {
  const Result<std::string> before = ReadFile(path);
  if (before && *before == content) {
    return false;
  }
  if (!before && before.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(before.error());
  }
  TRY(WriteFileAtomic(path, content, mode));
  return true;
}

Result<std::vector<std::string>> MakeDirectories(const std::string& path, mode_t mode) {
  std::vector<std::string> made;
  for (size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string here = path.substr(0, end);
    if (::mkdir(here.c_str(), mode) == 0) {
      if (::chmod(here.c_str(), mode) != 0) {
        return FailErrno("make directory " + here, errno);
      }
      made.push_back(here);
    } else if (errno != EEXIST) {
      return FailErrno("make directory " + here, errno);
    }
  }
  return made;
}

Status RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
    return FailErrno("remove " + path, errno);
  }
  return {};
}

}  // namespace gantry::host
