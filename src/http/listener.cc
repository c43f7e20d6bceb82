// SPDX-License-Identifier: Apache-2.0
// Where a server listens: an address of a flag as a socket.
#include "http/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace gantry::http {
namespace {

// ":8080" -> {"", "8080"}, "[::1]:0" -> {"::1", "0"}.
Result<std::pair<std::string, std::string>> SplitAddress(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || !ParseInt(address.substr(colon + 1)).has_value()) {
    return Fail(ErrorKind::kInvalid, format("listen on \"{}\": not host:port", address));
  }
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  return std::pair(std::string(host), std::string(address.substr(colon + 1)));
}

Result<Fd> ListenOnSocket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorKind::kInvalid,
                format("listen on \"unix:{}\": the path is empty or too long", path));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  unlink(path.c_str());
  // Nobody connects before listen(2).
  if (!listener.valid() ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || listen(listener.get(), 16) != 0) {
    return FailErrno(format("listen on \"unix:{}\"", path), errno);
  }
  return listener;
}

}  // namespace

Result<Fd> Listen(std::string_view address) {
  constexpr std::string_view kSocket = "unix:";
  if (address.starts_with(kSocket)) {
    return ListenOnSocket(std::string(address.substr(kSocket.size())));
  }
  TRY_ASSIGN(const auto parts, SplitAddress(address));
  addrinfo hints{};
  // Without a host: the wildcard of IPv6 takes IPv4 too, where there is IPv6.
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const char* host = parts.first.empty() ? nullptr : parts.first.c_str();
  const int failed = getaddrinfo(host, parts.second.c_str(), &hints, &found);
  if (failed != 0) {
    return Fail(ErrorKind::kInvalid, format("listen on \"{}\": {}", address, gai_strerror(failed)));
  }
  std::vector<const addrinfo*> choices;
  for (const bool six : {true, false}) {
    for (const addrinfo* choice = found; choice != nullptr; choice = choice->ai_next) {
      if ((choice->ai_family == AF_INET6) == six) {
        choices.push_back(choice);
      }
    }
  }
  Result<Fd> listener = Fail(ErrorKind::kInvalid, format("listen on \"{}\"", address));
  for (const addrinfo* choice : choices) {
    Fd opened(socket(choice->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int fd = opened.get();
    const int yes = 1;
    const int no = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (choice->ai_family == AF_INET6) {
      setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    }
    if (fd >= 0 && bind(fd, choice->ai_addr, choice->ai_addrlen) == 0 && listen(fd, 16) == 0) {
      listener = std::move(opened);
      break;
    }
    listener = FailErrno(format("listen on \"{}\"", address), errno);
  }
  freeaddrinfo(found);
  return listener;
}

uint16_t PortOf(int listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_UNIX) {
    return 0;
  }
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace gantry::http
