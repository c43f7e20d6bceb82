// SPDX-License-Identifier: Apache-2.0
// How does the host's root user write safely into a container's root file system? The image
// controls its links ("/etc -> /../../etc"), so every path is opened by openat2 with
// RESOLVE_IN_ROOT. Kernels before 5.6 lack it; there this file resolves the links first.
#include "operands/container_runtime/container_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/text.h"

namespace gantry::container_runtime {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;

std::string Relative(std::string_view path) {
  while (path.starts_with('/')) {
    path.remove_prefix(1);
  }
  return path.empty() ? "." : std::string(path);
}

// A name that no second hook for the same container uses at the same time.
std::string TemporaryName(std::string_view name) { return format(".{}.{}", name, ::getpid()); }

// 0, or the errno of what failed.
int LinkIn(int folder, const std::string& target, const std::string& name) {
  // Usually nothing exists: then one call is enough.
  if (::symlinkat(target.c_str(), folder, name.c_str()) == 0) {
    return 0;
  }
  if (errno != EEXIST) {
    return errno;
  }
  std::array<char, PATH_MAX> before{};
  const ssize_t length = ::readlinkat(folder, name.c_str(), before.data(), before.size());
  if (length > 0 && std::string_view(before.data(), static_cast<size_t>(length)) == target) {
    return 0;
  }
  const std::string temporary = TemporaryName(name);
  ::unlinkat(folder, temporary.c_str(), 0);
  if (::symlinkat(target.c_str(), folder, temporary.c_str()) == 0 &&
      ::renameat(folder, temporary.c_str(), folder, name.c_str()) == 0) {
    return 0;
  }
  const int reason = errno;
  ::unlinkat(folder, temporary.c_str(), 0);
  return reason;
}

Fd NewFile(int folder, const std::string& name, unsigned mode) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  return Fd(::openat(folder, name.c_str(), kFlags, mode));
}

// A killed hook's leftover is not in use.
Fd TemporaryFile(int folder, const std::string& name, unsigned mode) {
  Fd fd = NewFile(folder, name, mode);
  if (!fd.valid() && errno == EEXIST && ::unlinkat(folder, name.c_str(), 0) == 0) {
    fd = NewFile(folder, name, mode);
  }
  return fd;
}

// Regardless of the caller's umask.
bool HasMode(int fd, unsigned mode) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && ((info.st_mode & 07777) == mode || ::fchmod(fd, mode) == 0);
}

// Not every file system returns the type with the name.
FolderEntry::Kind KindOf(int folder, const dirent& entry) {
  unsigned char type = entry.d_type;
  struct stat info{};
  if (type == DT_UNKNOWN && ::fstatat(folder, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
    type = IFTODT(info.st_mode);
  }
  return type == DT_REG   ? FolderEntry::Kind::kFile
         : type == DT_LNK ? FolderEntry::Kind::kLink
                          : FolderEntry::Kind::kOther;
}

}  // namespace

Result<ContainerRoot> ContainerRoot::Open(const std::string& path) {
  Fd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    return FailErrno("open container root " + path, errno);
  }
  return ContainerRoot(path, std::move(fd));
}

Result<Fd> ContainerRoot::OpenAt(std::string_view path, int flags) const {
  const std::string relative = Relative(path);
  struct open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  Fd fd(static_cast<int>(::syscall(SYS_openat2, fd_.get(), relative.c_str(), &how, sizeof(how))));
  if (!fd.valid() && errno == ENOSYS) {
    TRY_ASSIGN(const std::string resolved, ResolveInRoot(path_, path));
    fd = Fd(::open(resolved.c_str(), flags | O_CLOEXEC | O_NOFOLLOW));
  }
  if (!fd.valid()) {
    return FailErrno(format("open {} in the container", path), errno);
  }
  return fd;
}

Result<Fd> ContainerRoot::Folder(std::string_view path, unsigned mode) const {
  auto whole = OpenAt(path, O_PATH | O_DIRECTORY);
  if (whole || whole.error().kind != ErrorKind::kNotFound) {
    return whole;
  }
  const std::string parent = ParentOf(path);
  TRY_ASSIGN(const Fd above, Folder(parent));
  if (::mkdirat(above.get(), BaseName(path).c_str(), mode) != 0 && errno != EEXIST) {
    return FailErrno(format("make directory {} in the container", path), errno);
  }
  return OpenAt(path, O_PATH | O_DIRECTORY);
}

Status ContainerRoot::Link(const std::vector<SymbolicLink>& links) const {
  std::string open;
  Fd folder;
  for (const SymbolicLink& link : links) {
    if (std::string parent = ParentOf(link.path); parent != open) {
      TRY_ASSIGN(folder, Folder(parent));
      open = std::move(parent);
    }
    if (const int reason = LinkIn(folder.get(), link.target, BaseName(link.path)); reason != 0) {
      return FailErrno(format("link {} in the container", link.path), reason);
    }
  }
  return {};
}

Status ContainerRoot::Write(std::string_view path, std::initializer_list<std::string_view> content,
                            NewModes modes) const {
  TRY_ASSIGN(const Fd folder, Folder(ParentOf(path), modes.folder));
  // Usually nothing exists, and no process reads it while the container is created: then the file
  // gets its name at once. Each step on an overlay costs a tenth of a millisecond or more.
  const std::string name = BaseName(path);
  std::string made = name;
  Fd fd = NewFile(folder.get(), made, modes.file);
  if (!fd.valid() && errno == EEXIST) {
    made = TemporaryName(name);
    fd = TemporaryFile(folder.get(), made, modes.file);
  }
  const std::string shown = format("{} in the container", path);
  Status written;
  if (!fd.valid() || !HasMode(fd.get(), modes.file)) {
    written = FailErrno("write " + shown, errno);
  } else {
    for (auto part = content.begin(); written && part != content.end(); ++part) {
      written = WriteDescriptor(fd.get(), *part, shown);
    }
  }
  if (written.has_value() && made != name &&
      ::renameat(folder.get(), made.c_str(), folder.get(), name.c_str()) != 0) {
    written = FailErrno("write " + shown, errno);
  }
  if (!written.has_value() && fd.valid()) {
    ::unlinkat(folder.get(), made.c_str(), 0);
  }
  return written;
}

Result<std::string> ContainerRoot::Read(std::string_view path) const {
  TRY_ASSIGN(const Fd fd, OpenAt(path, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Fail(ErrorKind::kInvalid, format("read {} in the container: no regular file", path));
  }
  std::string content(std::min(static_cast<size_t>(info.st_size), kMostBytes), '\0');
  size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t count = ::read(fd.get(), content.data() + filled, content.size() - filled);
    if (count < 0) {
      return FailErrno(format("read {} in the container", path), errno);
    }
    if (count == 0) {
      break;
    }
    filled += static_cast<size_t>(count);
  }
  content.resize(filled);
  return content;
}

std::vector<FolderEntry> ContainerRoot::Entries(std::string_view folder) const {
  std::vector<FolderEntry> found;
  const auto fd = OpenAt(folder, O_RDONLY | O_DIRECTORY);
  // By the system call: only opendir would initialise the C library's heap here.
  alignas(dirent) std::array<char, 8192> entries;
  ssize_t filled = 0;
  while (fd &&
         (filled = ::syscall(SYS_getdents64, fd->get(), entries.data(), entries.size())) > 0) {
    for (ssize_t at = 0; at < filled;) {
      const auto* entry = reinterpret_cast<const dirent*>(entries.data() + at);
      if (const std::string_view name = entry->d_name; name != "." && name != "..") {
        found.push_back({std::string(name), KindOf(fd->get(), *entry)});
      }
      at += entry->d_reclen;
    }
  }
  std::ranges::sort(found, {}, &FolderEntry::name);
  return found;
}

std::vector<std::string> ContainerRoot::List(std::string_view folder) const {
  std::vector<std::string> names;
  for (FolderEntry& entry : Entries(folder)) {
    names.push_back(std::move(entry.name));
  }
  return names;
}

bool ContainerRoot::SameFile(std::string_view a, std::string_view b) const {
  const auto first = OpenAt(a, O_PATH);
  const auto second = first ? OpenAt(b, O_PATH) : Result<Fd>(std::unexpected(first.error()));
  struct stat left{};
  struct stat right{};
  return second && ::fstat(first->get(), &left) == 0 && ::fstat(second->get(), &right) == 0 &&
         left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

bool ContainerRoot::Exists(std::string_view path) const { return OpenAt(path, O_PATH).has_value(); }

Status ContainerRoot::ChangeMode(std::string_view path, unsigned mode) const {
  TRY_ASSIGN(const Fd fd, OpenAt(path, O_PATH));
  struct stat info{};
  const bool right = ::fstat(fd.get(), &info) == 0 && (info.st_mode & 07777) == mode;
  if (!right && ::chmod(format("/proc/self/fd/{}", fd.get()).c_str(), mode) != 0) {
    return FailErrno(format("change mode of {} in the container", path), errno);
  }
  return {};
}

}  // namespace gantry::container_runtime
