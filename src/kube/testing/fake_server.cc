// SPDX-License-Identifier: Apache-2.0
// How does a test get an API server? One thread for each connection, which is closed after its
// response.
#include "kube/testing/fake_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/text.h"

namespace gantry::kube {
namespace {

// Blocks until there is something to read; false: the server is ending.
bool Ready(int fd, int wake) {
  std::array<pollfd, 2> waits = {pollfd{fd, POLLIN, 0}, pollfd{wake, POLLIN, 0}};
  CHECK(poll(waits.data(), waits.size(), -1) > 0);
  return waits[1].revents == 0;
}

// The value of a header; empty if there is none.
std::string HeaderOf(std::string_view head, std::string_view name) {
  for (const std::string& line : Split(head, '\n')) {
    if (Lower(line).starts_with(Lower(format("{}:", name)))) {
      return std::string(Trim(std::string_view(line).substr(name.size() + 1)));
    }
  }
  return "";
}

}  // namespace

FakeServer::FakeServer(Answer answer)
    : answer_(std::move(answer)),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      wake_(eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  CHECK(bind(listener_, plain, size) == 0 && listen(listener_, 16) == 0);
  CHECK(getsockname(listener_, plain, &size) == 0);
  port_ = ntohs(address.sin_port);
  accepting_ = std::jthread([this] { Accept(); });
}

FakeServer::~FakeServer() {
  eventfd_write(wake_, 1);
  accepting_.join();
  visitors_.clear();
  close(listener_);
  close(wake_);
}

Config FakeServer::config() const {
  Config config;
  config.host = "127.0.0.1";
  config.port = port_;
  config.tls = false;
  return config;
}

void FakeServer::Accept() {
  while (Ready(listener_, wake_)) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    CHECK(fd >= 0);
    visitors_.emplace_back([this, fd] {
      Serve(fd);
      close(fd);
    });
  }
}

void FakeServer::Serve(int fd) {
  std::string text;
  size_t head = std::string::npos;
  size_t whole = 0;
  while (head == std::string::npos || text.size() < whole) {
    std::array<char, 4096> part{};
    const ssize_t got = Ready(fd, wake_) ? recv(fd, part.data(), part.size(), 0) : 0;
    if (got <= 0) {
      return;
    }
    text.append(part.data(), static_cast<size_t>(got));
    head = text.find("\r\n\r\n");
    if (head != std::string::npos) {
      whole = head + 4 +
              static_cast<size_t>(
                  ParseInt(HeaderOf(text.substr(0, head), "Content-Length")).value_or(0));
    }
  }
  const std::vector<std::string> words = Split(text.substr(0, text.find('\r')), ' ');
  ++requests_;
  Reply reply;
  {
    const std::scoped_lock lock(answering_);
    reply = answer_({.method = words.at(0),
                     .target = words.at(1),
                     .authorization = HeaderOf(text.substr(0, head), "Authorization"),
                     .body = text.substr(head + 4)});
  }
  // Without a length the body ends with the connection.
  const std::string answer = format("HTTP/1.1 {} Status\r\nConnection: close\r\n{}\r\n{}",
                                    reply.status, reply.header, reply.body);
  send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
  if (reply.silent) {
    Ready(fd, wake_);
  }
}

}  // namespace gantry::kube
