// SPDX-License-Identifier: Apache-2.0
// The few lines of HTTP that probes and scrapers need. One thread polls the listener and what is
// connected. A client that sends its request byte by byte holds up nobody else, and of those whose
// password has to be computed one a round.
#include "http/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process_metrics.h"
#include "http/connection.h"
#include "http/gzip.h"
#include "http/listener.h"

namespace gantry::http {
namespace {

constexpr size_t kMaxConnections = 32;
constexpr std::chrono::seconds kRest{1};

int MillisecondsUntil(SteadyTime time) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(time - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<long long>(left.count(), 0));
}

// Until when poll(2) may wait; max: for ever.
SteadyTime NextTime(const std::list<Connection>& connections, SteadyTime rest) {
  SteadyTime next = rest;
  for (const Connection& connection : connections) {
    next = std::min(next, connection.due() ? SteadyTime::min() : connection.deadline());
  }
  return next;
}

// Probes get through, however many others connect and say nothing: who has asked nothing for
// longest makes room, else who came first.
void MakeRoom(std::list<Connection>& connections) {
  if (connections.size() < kMaxConnections) {
    return;
  }
  auto out = connections.begin();
  for (auto other = connections.begin(); other != connections.end(); ++other) {
    if (other->idle() && (!out->idle() || other->deadline() < out->deadline())) {
      out = other;
    }
  }
  connections.erase(out);
}

}  // namespace

const std::string& SharedBody::gzip() const {
  if (gzip_.empty()) {
    gzip_ = Gzip(text_);
  }
  return gzip_;
}

Response MetricsResponse(std::string metrics) {
  return {.status = 200,
          .body = std::move(metrics) + FormatProcessMetrics(),
          .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

Result<std::unique_ptr<Server>> Server::Start(std::string_view address, Handler handler,
                                              const ServerOptions& options) {
  auto site = std::make_unique<Site>(Site{.handler = std::move(handler),
                                          .read_timeout = options.read_timeout,
                                          .write_timeout = options.write_timeout,
                                          .web_config = nullptr});
  if (!options.web_config_file.empty()) {
    TRY_ASSIGN(site->web_config, WebConfigFile::Open(options.web_config_file));
  }
  TRY_ASSIGN(Fd listener, Listen(address));
  return std::unique_ptr<Server>(new Server(std::move(listener), std::move(site)));
}

Server::Server(Fd listener, std::unique_ptr<Site> site)
    : listener_(std::move(listener)),
      wake_(eventfd(0, EFD_CLOEXEC)),
      port_(PortOf(listener_.get())),
      site_(std::move(site)) {
  CHECK(wake_.valid());
  thread_ = std::jthread([this] { Run(); });
}

Server::~Server() {
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void Server::Run() {
  std::list<Connection> connections;
  // Who can't be let in, for want of a descriptor, stays at the door: poll would not wait. The
  // listener is left alone until then; max: it is not.
  SteadyTime rest = SteadyTime::max();
  while (true) {
    std::vector<pollfd> waits = {
        {.fd = wake_.get(), .events = POLLIN, .revents = 0},
        {.fd = rest == SteadyTime::max() ? listener_.get() : -1, .events = POLLIN, .revents = 0}};
    for (const Connection& connection : connections) {
      waits.push_back({.fd = connection.fd(), .events = connection.wait(), .revents = 0});
    }
    const SteadyTime next = NextTime(connections, rest);
    const int patience = next == SteadyTime::max()   ? -1
                         : next == SteadyTime::min() ? 0
                                                     : MillisecondsUntil(next);
    if (poll(waits.data(), waits.size(), patience) < 0) {
      continue;
    }
    if (waits[0].revents != 0) {
      return;
    }
    const SteadyTime now = std::chrono::steady_clock::now();
    bool may_check = true;
    auto wait = waits.begin() + 2;
    for (auto connection = connections.begin(); connection != connections.end(); ++wait) {
      const bool ready = wait->revents != 0 || connection->due();
      const bool goes_on =
          now < connection->deadline() && (!ready || connection->Step(now, may_check));
      connection = goes_on ? std::next(connection) : connections.erase(connection);
    }
    if (now >= rest) {
      rest = SteadyTime::max();
    }
    if (waits[1].revents != 0) {
      Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd.valid()) {
        rest = now + kRest;
        continue;
      }
      MakeRoom(connections);
      connections.emplace_back(std::move(fd), *site_, now);
    }
  }
}

}  // namespace gantry::http
