// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "kubelet/device_plugin/registration.h"

namespace gantry::kubelet {

// A listening socket at a path. It is renamed into place, so the path always has one, and the
// replaced socket of another process keeps serving its connections.
class PluginSocket {
 public:
  static Result<PluginSocket> Listen(const std::string& folder, const std::string& name);
  PluginSocket(PluginSocket&& other) noexcept;
  PluginSocket& operator=(PluginSocket&& other) noexcept;
  // Closes; removes the file if it is still this one.
  ~PluginSocket();

  // The next connection; -1 if there is none now. Never blocks.
  [[nodiscard]] int Accept() const;
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] OwnSocket Look() const;

 private:
  PluginSocket(int fd, uint64_t inode, std::string path)
      : fd_(fd), inode_(inode), path_(std::move(path)) {}

  int fd_ = -1;
  uint64_t inode_ = 0;
  std::string path_;
};

// Identifies the socket at the path: a new number for each socket; 0 if there is none.
uint64_t SocketIdentity(const std::string& path);
// Connects to a listening socket without waiting.
Result<int> ConnectTo(const std::string& path);

}  // namespace gantry::kubelet
