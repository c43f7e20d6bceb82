// SPDX-License-Identifier: Apache-2.0
// The few lines of HTTP that probes and scrapers need. One thread polls the listener and what is
// connected; every answer closes its connection, so that nothing lingers. A client that sends its
// request byte by byte holds up nobody else.
#include "http/server.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process_metrics.h"
#include "base/text.h"
#include "http/http.h"

namespace gantry::http {
namespace {

constexpr size_t kMaxConnections = 32;
constexpr size_t kMaxRequest = 16'384;
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::seconds kRest{1};

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

Result<int> Listen(std::string_view address) {
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
  Result<int> listener = Fail(ErrorKind::kInvalid, format("listen on \"{}\"", address));
  for (const addrinfo* choice : choices) {
    const int fd = socket(choice->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    const int no = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (choice->ai_family == AF_INET6) {
      setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    }
    if (fd >= 0 && bind(fd, choice->ai_addr, choice->ai_addrlen) == 0 && listen(fd, 16) == 0) {
      listener = fd;
      break;
    }
    listener = FailErrno(format("listen on \"{}\"", address), errno);
    if (fd >= 0) {
      close(fd);
    }
  }
  freeaddrinfo(found);
  return listener;
}

uint16_t PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::string_view Phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 400:
      return "Bad Request";
    default:
      return "Service Unavailable";
  }
}

struct Visitor {
  int fd;
  SteadyTime deadline;
  std::string in = {};
  std::string out = {};
  bool answered = false;
};

std::string Reply(const Response& answer, bool with_body) {
  return format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      answer.status, Phrase(answer.status), answer.content_type, answer.body.size(),
      with_body ? answer.body : "");
}

// The reply to what has come so far; empty while the request is not whole.
std::string ReplyTo(std::string_view bytes, const Server::Handler& handler) {
  const Result<std::optional<RequestHead>> head = ReadRequestHead(bytes);
  std::string bad = Reply({.status = 400, .body = "bad request\n"}, true);
  if (!head.has_value()) {
    return bad;
  }
  const std::optional<RequestHead>& request = *head;
  if (!request.has_value()) {
    return bytes.size() > kMaxRequest ? bad : "";
  }
  if (request->method != "GET" && request->method != "HEAD") {
    return Reply({.status = 405, .body = "only GET and HEAD\n"}, true);
  }
  const std::string_view target = request->target;
  return Reply(handler(target.substr(0, target.find('?'))), request->method == "GET");
}

// One step of a connection that poll found ready; false when it is over.
bool Step(Visitor& visitor, const Server::Handler& handler) {
  if (!visitor.answered) {
    char buffer[4096];
    const ssize_t got = recv(visitor.fd, buffer, sizeof buffer, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      return false;
    }
    visitor.in.append(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0)));
    visitor.out = ReplyTo(visitor.in, handler);
    visitor.answered = !visitor.out.empty();
    if (!visitor.answered) {
      return true;
    }
  }
  const ssize_t sent = send(visitor.fd, visitor.out.data(), visitor.out.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  visitor.out.erase(0, static_cast<size_t>(sent));
  return !visitor.out.empty();
}

int MillisecondsUntil(SteadyTime time) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(time - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<long long>(left.count(), 0));
}

}  // namespace

Response MetricsResponse(std::string metrics) {
  return {200, std::move(metrics) + FormatProcessMetrics(),
          "text/plain; version=0.0.4; charset=utf-8"};
}

Result<std::unique_ptr<Server>> Server::Start(std::string_view address, Handler handler) {
  TRY_ASSIGN(const int listener, Listen(address));
  const int wake = eventfd(0, EFD_CLOEXEC);
  CHECK(wake >= 0);
  return std::unique_ptr<Server>(new Server(listener, wake, PortOf(listener), std::move(handler)));
}

Server::Server(int listener, int wake, uint16_t port, Handler handler)
    : listener_(listener), wake_(wake), port_(port), handler_(std::move(handler)) {
  thread_ = std::jthread([this] { Run(); });
}

Server::~Server() {
  eventfd_write(wake_, 1);
  thread_.join();
  close(listener_);
  close(wake_);
}

void Server::Run() {
  std::list<Visitor> visitors;  // the oldest first, so that its deadline is the earliest
  // Who can't be let in, for want of a descriptor, stays at the door: poll would not wait. The
  // listener is left alone until then; max: it is not.
  SteadyTime rest = SteadyTime::max();
  while (true) {
    std::vector<pollfd> waits = {
        {.fd = wake_, .events = POLLIN, .revents = 0},
        {.fd = rest == SteadyTime::max() ? listener_ : -1, .events = POLLIN, .revents = 0}};
    for (const Visitor& visitor : visitors) {
      const short events = visitor.answered ? POLLOUT : POLLIN;
      waits.push_back({.fd = visitor.fd, .events = events, .revents = 0});
    }
    SteadyTime next = rest;
    if (!visitors.empty()) {
      next = std::min(next, visitors.front().deadline);
    }
    const int patience = next == SteadyTime::max() ? -1 : MillisecondsUntil(next);
    if (poll(waits.data(), waits.size(), patience) < 0) {
      continue;
    }
    if (waits[0].revents != 0) {
      break;
    }
    const SteadyTime now = std::chrono::steady_clock::now();
    auto wait = waits.begin() + 2;
    for (auto visitor = visitors.begin(); visitor != visitors.end(); ++wait) {
      const bool goes_on =
          now < visitor->deadline && (wait->revents == 0 || Step(*visitor, handler_));
      if (goes_on) {
        ++visitor;
      } else {
        close(visitor->fd);
        visitor = visitors.erase(visitor);
      }
    }
    if (now >= rest) {
      rest = SteadyTime::max();
    }
    if (waits[1].revents != 0) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) {
        rest = now + kRest;
        continue;
      }
      // Probes get through, however many others connect and say nothing.
      if (visitors.size() >= kMaxConnections) {
        close(visitors.front().fd);
        visitors.pop_front();
      }
      visitors.push_back({.fd = fd, .deadline = now + kPatience});
    }
  }
  for (const Visitor& visitor : visitors) {
    close(visitor.fd);
  }
}

}  // namespace gantry::http
