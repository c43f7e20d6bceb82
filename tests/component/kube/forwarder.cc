// SPDX-License-Identifier: Apache-2.0
// A TCP forwarder in one thread: polls the listener and each pair of connections.
#include "forwarder.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

namespace gantry::kube {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

struct Pair {
  int client;
  int server;
};

// Closed with a reset, as a broken network ends it.
void Reset(int fd) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(fd);
}

bool Copy(int from, int to) {
  char buffer[16384];
  const ssize_t got = recv(from, buffer, sizeof buffer, 0);
  for (ssize_t sent = 0; sent < got;) {
    const ssize_t part = send(to, buffer + sent, static_cast<size_t>(got - sent), MSG_NOSIGNAL);
    if (part <= 0) {
      return false;
    }
    sent += part;
  }
  return got > 0;
}

}  // namespace

Forwarder::Forwarder(uint16_t target) : target_(target) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CHECK(listen(listener_, 64) == 0);
  CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

Forwarder::~Forwarder() {
  {
    const std::scoped_lock lock(mutex_);
    end_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
  close(listener_);
  close(wake_);
}

void Forwarder::Cut() {
  {
    const std::scoped_lock lock(mutex_);
    cut_ = true;
  }
  eventfd_write(wake_, 1);
}

void Forwarder::Set(Mode mode) {
  {
    const std::scoped_lock lock(mutex_);
    mode_ = mode;
    cut_ = cut_ || mode == Mode::kRefuse;
  }
  eventfd_write(wake_, 1);
}

int Forwarder::accepted() const {
  const std::scoped_lock lock(mutex_);
  return accepted_;
}

void Forwarder::Run() {
  std::vector<Pair> pairs;
  while (true) {
    Mode mode = Mode::kPass;
    {
      const std::scoped_lock lock(mutex_);
      if (cut_ || end_) {
        for (const Pair& pair : pairs) {
          Reset(pair.client);
          Reset(pair.server);
        }
        pairs.clear();
        cut_ = false;
      }
      if (end_) {
        return;
      }
      mode = mode_;
    }
    std::vector<pollfd> waits = {{.fd = wake_, .events = POLLIN, .revents = 0},
                                 {.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const Pair& pair : pairs) {
      const bool pass = mode != Mode::kSwallow;
      waits.push_back({.fd = pass ? pair.client : -1, .events = POLLIN, .revents = 0});
      waits.push_back({.fd = pass ? pair.server : -1, .events = POLLIN, .revents = 0});
    }
    poll(waits.data(), waits.size(), -1);
    eventfd_t count = 0;
    eventfd_read(wake_, &count);
    std::vector<Pair> alive;
    for (size_t i = 0; i < pairs.size(); ++i) {
      const Pair pair = pairs[i];
      const bool broken = (waits[2 + 2 * i].revents != 0 && !Copy(pair.client, pair.server)) ||
                          (waits[3 + 2 * i].revents != 0 && !Copy(pair.server, pair.client));
      if (broken) {
        close(pair.client);
        close(pair.server);
      } else {
        alive.push_back(pair);
      }
    }
    pairs = std::move(alive);
    if (waits[1].revents == 0) {
      continue;
    }
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(target_);
    if (mode == Mode::kRefuse ||
        connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      Reset(client);
      close(server);
      continue;
    }
    pairs.push_back({.client = client, .server = server});
    const std::scoped_lock lock(mutex_);
    ++accepted_;
  }
}

}  // namespace gantry::kube
