// SPDX-License-Identifier: Apache-2.0
// How is a container engine called on its socket, with a deadline? An engine that has just started
// may accept a connection long before it answers.
#include "container/unix_call.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace gantry::container {

using std::chrono::steady_clock;

Result<UnixCall> UnixCall::Connect(std::string path, std::chrono::milliseconds limit) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorKind::kInvalid, format("connect to {}: the path is too long", path));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!fd.valid() || ::setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
    return FailErrno("connect to " + path, errno);
  }
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return errno == ECONNREFUSED || errno == EAGAIN
               ? Fail(ErrorKind::kUnavailable, format("connect to {}: no process listens", path))
               : FailErrno("connect to " + path, errno);
  }
  return UnixCall(std::move(path), std::move(fd), steady_clock::now() + limit);
}

Status UnixCall::Wait(short events) const {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - steady_clock::now());
    pollfd source{fd_.get(), events, 0};
    const int ready =
        left.count() <= 0 ? 0 : ::poll(&source, 1, static_cast<int>(left.count()) + 1);
    if (ready > 0) {
      return {};
    }
    if (ready == 0) {
      return Fail(ErrorKind::kTimeout, format("ask {}: no answer", path_));
    }
  }
}

Status UnixCall::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN) {
      TRY(Wait(POLLOUT));
    } else if (count < 0) {
      return Fail(ErrorKind::kUnavailable, format("ask {}: the connection broke", path_));
    } else {
      bytes.remove_prefix(static_cast<size_t>(count));
    }
  }
  return {};
}

Result<size_t> UnixCall::Read(char* into, size_t size) {
  while (true) {
    iovec part{into, size};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t count = ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EAGAIN) {
      TRY(Wait(POLLIN));
      continue;
    }
    if (count < 0) {
      return Fail(ErrorKind::kUnavailable, format("ask {}: the connection broke", path_));
    }
    const cmsghdr* head = CMSG_FIRSTHDR(&message);
    if (count > 0 && head != nullptr && head->cmsg_level == SOL_SOCKET &&
        head->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials{};
      std::memcpy(&credentials, CMSG_DATA(head), sizeof(credentials));
      writer_ = credentials.pid;
    }
    return static_cast<size_t>(count);
  }
}

Result<std::string> UnixCall::Receive(size_t size) {
  std::string bytes(size, '\0');
  for (size_t filled = 0; filled < size;) {
    TRY_ASSIGN(const size_t count, Read(bytes.data() + filled, size - filled));
    if (count == 0) {
      return Fail(ErrorKind::kUnavailable, format("ask {}: the connection broke", path_));
    }
    filled += count;
  }
  return bytes;
}

Result<std::string> UnixCall::ReceiveAll(size_t most) {
  std::string bytes;
  std::array<char, 16384> part{};
  while (true) {
    TRY_ASSIGN(const size_t count, Read(part.data(), part.size()));
    if (count == 0) {
      return bytes;
    }
    bytes.append(part.data(), count);
    if (bytes.size() > most) {
      return Fail(ErrorKind::kInternal, format("ask {}: the answer is too long", path_));
    }
  }
}

}  // namespace gantry::container
