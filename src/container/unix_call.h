// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/paths.h"

namespace gantry::container {

// A connection to a unix socket for a single request, with one deadline for all of it. Every call
// blocks until then at most. kNotFound, kUnavailable: no process listens; kTimeout.
class UnixCall {
 public:
  static Result<UnixCall> Connect(std::string path, std::chrono::milliseconds limit);

  Status Send(std::string_view bytes);
  // Exactly this many bytes; kUnavailable if the connection ends before.
  Result<std::string> Receive(size_t size);
  // Everything until the peer closes; kInternal beyond `most`.
  Result<std::string> ReceiveAll(size_t most);
  // The process that wrote the last received bytes (SCM_CREDENTIALS): SO_PEERCRED would name
  // systemd if systemd listens on the socket. 0: unknown, or in another PID namespace.
  [[nodiscard]] pid_t writer() const { return writer_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  UnixCall(std::string path, Fd fd, Time deadline)
      : path_(std::move(path)), fd_(std::move(fd)), deadline_(deadline) {}
  [[nodiscard]] Status Wait(short events) const;
  // Bytes read, 0 at the end.
  Result<size_t> Read(char* into, size_t size);

  std::string path_;
  Fd fd_;
  Time deadline_;
  pid_t writer_ = 0;
};

}  // namespace gantry::container
