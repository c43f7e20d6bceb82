// SPDX-License-Identifier: Apache-2.0
// How does a plugin put its socket at a path, and whose socket is at the path now?
//
// The inode number tells: while a listening socket is open, no other file gets its number, even
// after the kubelet has unlinked it. For kubelet.sock, whose process may have ended, the change
// time counts too.
#include "kubelet/plugin_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "base/text.h"

namespace gantry::kubelet {
namespace {

constexpr int kBacklog = 64;

Result<sockaddr_un> Address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorKind::kInvalid, format("use socket {}: path too long", path));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<int> OpenSocket() {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return FailErrno("open a unix socket", errno);
  }
  return fd;
}

// A name that no other process picks, even in another PID namespace, and not longer than an
// endpoint's: a socket's path has room for 107 characters.
std::string TemporaryName() { return format(".{:08x}", std::random_device()()); }

}  // namespace

Result<PluginSocket> PluginSocket::Listen(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  const std::string temporary = folder + "/" + TemporaryName();
  TRY(Address(path));
  TRY_ASSIGN(const auto address, Address(temporary));
  TRY_ASSIGN(const int fd, OpenSocket());
  PluginSocket made(fd, 0, temporary);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return FailErrno(format("listen on {}", path), errno);
  }
  struct stat info{};
  if (stat(temporary.c_str(), &info) != 0) {
    return FailErrno(format("listen on {}", path), errno);
  }
  made.inode_ = info.st_ino;
  if (listen(fd, kBacklog) != 0) {
    return FailErrno(format("listen on {}", path), errno);
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return FailErrno(format("listen on {}", path), errno);
  }
  made.path_ = path;
  return made;
}

PluginSocket::PluginSocket(PluginSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), inode_(other.inode_), path_(std::move(other.path_)) {}

PluginSocket& PluginSocket::operator=(PluginSocket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(inode_, other.inode_);
  std::swap(path_, other.path_);
  return *this;
}

PluginSocket::~PluginSocket() {
  if (fd_ < 0) {
    return;
  }
  if (Look() == OwnSocket::kOurs) {
    unlink(path_.c_str());
  }
  close(fd_);
}

int PluginSocket::Accept() const {
  return accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

OwnSocket PluginSocket::Look() const {
  struct stat info{};
  if (stat(path_.c_str(), &info) != 0) {
    return OwnSocket::kAbsent;
  }
  return info.st_ino == inode_ ? OwnSocket::kOurs : OwnSocket::kForeign;
}

uint64_t SocketIdentity(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) {
    return 0;
  }
  const auto changed = static_cast<uint64_t>(info.st_ctim.tv_sec) * 1'000'000'000U +
                       static_cast<uint64_t>(info.st_ctim.tv_nsec);
  return (info.st_ino * 0x9E3779B97F4A7C15U ^ changed) | 1U;
}

Result<int> ConnectTo(const std::string& path) {
  TRY_ASSIGN(const auto address, Address(path));
  TRY_ASSIGN(const int fd, OpenSocket());
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    close(fd);
    return FailErrno(format("connect to {}", path), error);
  }
  return fd;
}

}  // namespace gantry::kubelet
