// SPDX-License-Identifier: Apache-2.0
// Where does a path lead under another root? Resolved here, component by component, instead of by
// openat2(RESOLVE_IN_ROOT): hosts with kernel 4.18 lack that call, and an absolute link of the host
// ("/var/run -> /run") must not lead into Gantry's own image.
#include "base/paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <deque>

#include "base/text.h"

namespace gantry {
namespace {

constexpr int kMostLinks = 40;  // as the kernel's limit

std::string ReadLink(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length <= 0 ? "" : std::string(target.data(), static_cast<size_t>(length));
}

// The components of a path, without empty ones and ".".
std::deque<std::string> Components(std::string_view path) {
  std::deque<std::string> parts;
  for (std::string& part : Split(path, '/')) {
    if (!part.empty() && part != ".") {
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) {
      ::close(fd_);
    }
    fd_ = other.Release();
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

Result<std::string> ReadFile(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return FailErrno("read " + path, errno);
  }
  return ReadDescriptor(fd.get(), path);
}

Result<std::string> ReadDescriptor(int fd, std::string_view name) {
  std::string content;
  struct stat info{};
  if (::fstat(fd, &info) == 0 && info.st_size > 0) {
    content.reserve(static_cast<size_t>(info.st_size));
  }
  std::array<char, 16384> part{};
  while (true) {
    const ssize_t count = ::read(fd, part.data(), part.size());
    if (count == 0) {
      return content;
    }
    if (count < 0 && errno != EINTR) {
      return FailErrno(format("read {}", name), errno);
    }
    if (count > 0) {
      content.append(part.data(), static_cast<size_t>(count));
    }
  }
}

Status WriteDescriptor(int fd, std::string_view content, std::string_view name) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno != EINTR) {
      return FailErrno(format("write {}", name), errno);
    }
    content.remove_prefix(written < 0 ? 0 : static_cast<size_t>(written));
  }
  return {};
}

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) {
    if (errno == ENOENT) {
      return names;
    }
    return FailErrno("list " + path, errno);
  }
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  ::closedir(directory);
  std::ranges::sort(names);
  return names;
}

Result<std::string> ResolveInRoot(const std::string& root, std::string_view host_path) {
  const std::string base = root == "/" ? "" : root;
  std::vector<std::string> done;
  std::deque<std::string> pending = Components(host_path);
  int links = 0;
  while (!pending.empty()) {
    const std::string part = std::move(pending.front());
    pending.pop_front();
    if (part == "..") {
      if (!done.empty()) {
        done.pop_back();
      }
      continue;
    }
    done.push_back(part);
    const std::string target = ReadLink(base + "/" + Join(done, "/"));
    if (target.empty()) {
      continue;
    }
    if (++links > kMostLinks) {
      return Fail(ErrorKind::kInvalid, format("resolve {}: symbolic links go round", host_path));
    }
    done.pop_back();
    if (target.front() == '/') {
      done.clear();
    }
    std::deque<std::string> onward = Components(target);
    pending.insert(pending.begin(), onward.begin(), onward.end());
  }
  return done.empty() && base.empty() ? "/" : base + (done.empty() ? "" : "/" + Join(done, "/"));
}

std::optional<std::string> WithoutRoot(std::string_view root, std::string_view path) {
  if (root == "/" || root.empty()) {
    return std::string(path);
  }
  if (!path.starts_with(root)) {
    return std::nullopt;
  }
  path.remove_prefix(root.size());
  if (path.empty()) {
    return "/";
  }
  return path.front() == '/' ? std::optional<std::string>(path) : std::nullopt;
}

std::string JoinPath(std::string_view a, std::string_view b) {
  while (a.ends_with('/')) {
    a.remove_suffix(1);
  }
  while (b.starts_with('/')) {
    b.remove_prefix(1);
  }
  return std::string(a) + "/" + std::string(b);
}

std::string ParentOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) {
    return ".";
  }
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

std::string BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

Result<std::vector<std::string>> GlobInRoot(const std::string& root, std::string_view pattern) {
  std::vector<std::string> found = {"/"};
  for (const std::string& part : Components(pattern)) {
    const bool literal = part.find_first_of("*?[") == std::string::npos;
    std::vector<std::string> next;
    for (const std::string& folder : found) {
      TRY_ASSIGN(const std::string here, ResolveInRoot(root, folder));
      if (literal) {
        struct stat info{};
        if (::lstat(JoinPath(here, part).c_str(), &info) == 0) {
          next.push_back(JoinPath(folder, part));
        }
        continue;
      }
      const auto names = ListDirectory(here);
      if (!names) {
        continue;  // a file where the pattern wants a directory
      }
      for (const std::string& name : *names) {
        if (::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0) {
          next.push_back(JoinPath(folder, name));
        }
      }
    }
    found = std::move(next);
  }
  std::vector<std::string> paths;
  paths.reserve(found.size());
  for (const std::string& host_path : found) {
    paths.push_back(JoinPath(root, host_path));
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace gantry
