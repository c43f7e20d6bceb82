// SPDX-License-Identifier: Apache-2.0
#include "http/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

namespace gantry::http {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

void Connect(int fd, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
}

int Dial(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Connect(fd, port);
  return fd;
}

std::string ReadAll(int fd) {
  std::string all;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = recv(fd, buffer, sizeof buffer, 0)) > 0) {
    all.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  return all;
}

std::string Ask(uint16_t port, std::string_view request) {
  const int fd = Dial(port);
  EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  return ReadAll(fd);
}

std::unique_ptr<Server> StartServer() {
  return Server::Start("127.0.0.1:0",
                       [](std::string_view path) -> Response {
                         if (path == "/healthz") {
                           return {.body = "ok\n"};
                         }
                         if (path == "/metrics") {
                           return {.body = std::string(5'000'000, 'm')};
                         }
                         return {.status = 404, .body = "no such path\n"};
                       })
      .value();
}

TEST(Server, AnswersAPathWithoutItsQuery) {
  const auto server = StartServer();
  EXPECT_THAT(Ask(server->port(), "GET /healthz?verbose HTTP/1.1\r\nConnection: close\r\n\r\n"),
              testing::AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), testing::EndsWith("\r\n\r\nok\n")));
  EXPECT_THAT(Ask(server->port(), "GET /x HTTP/1.1\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 404 Not Found"));
}

TEST(Server, HeadHasNoBodyAndOtherVerbsAndNoiseAreRefused) {
  const auto server = StartServer();
  EXPECT_THAT(Ask(server->port(), "HEAD /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"),
              testing::EndsWith("\r\n\r\n"));
  EXPECT_THAT(Ask(server->port(), "DELETE /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Ask(server->port(), "\x16\x03\x01 tls?\r\n\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST(Server, ALargeAnswerIsSentWhole) {
  const auto server = StartServer();
  EXPECT_GT(Ask(server->port(), "GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n").size(),
            5'000'000U);
}

TEST(Server, ASlowClientHoldsUpNobody) {
  const auto server = StartServer();
  const int slow = Dial(server->port());
  EXPECT_EQ(send(slow, "GET /hea", 8, MSG_NOSIGNAL), 8);
  EXPECT_THAT(Ask(server->port(), "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"),
              HasSubstr("ok"));
  const std::string_view rest = "lthz HTTP/1.1\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(send(slow, rest.data(), rest.size(), MSG_NOSIGNAL), static_cast<ssize_t>(rest.size()));
  EXPECT_THAT(ReadAll(slow), HasSubstr("ok"));
}

TEST(Server, ClientsThatAreTooSlowAreClosed) {
  const std::string_view request = "GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n";
  const auto server =
      Server::Start("127.0.0.1:0",
                    [](std::string_view) { return Response{.body = std::string(50'000'000, 'm')}; },
                    {.read_timeout = std::chrono::milliseconds(50),
                     .write_timeout = std::chrono::milliseconds(200)});
  ASSERT_TRUE(server.has_value());
  const int half = Dial((*server)->port());
  EXPECT_EQ(send(half, "GET", 3, MSG_NOSIGNAL), 3);
  EXPECT_EQ(ReadAll(half), "");
  const int slow = Dial((*server)->port());
  EXPECT_EQ(send(slow, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_LT(ReadAll(slow).size(), 50'000'000U);
}

TEST(Server, ManySilentClientsHoldUpNobody) {
  const auto server = StartServer();
  std::vector<int> silent(40);
  std::ranges::generate(silent, [&] { return Dial(server->port()); });
  const auto started = std::chrono::steady_clock::now();
  EXPECT_THAT(Ask(server->port(), "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"),
              HasSubstr("ok"));
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(5));
  std::ranges::for_each(silent, close);
}

std::chrono::nanoseconds CpuTime() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

TEST(Server, WithoutADescriptorItWaitsForOne) {
  const auto server = StartServer();
  const std::string_view request = "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n";
  // The thread runs: while it begins, a sanitizer needs descriptors of its own.
  EXPECT_THAT(Ask(server->port(), request), HasSubstr("ok"));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none_left{.rlim_cur = static_cast<rlim_t>(fd) + 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  Connect(fd, server->port());
  EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  const auto before_waiting = CpuTime();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto used = CpuTime() - before_waiting;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(used, std::chrono::milliseconds(200));
  EXPECT_THAT(ReadAll(fd), HasSubstr("ok"));
}

TEST(Server, AnswersSeveralRequestsOfOneConnection) {
  const auto server = StartServer();
  // Both at once, as a client that doesn't wait; the second closes.
  EXPECT_THAT(Ask(server->port(),
                  "GET /healthz HTTP/1.1\r\n\r\nGET /x HTTP/1.1\r\nConnection: close\r\n\r\n"),
              testing::AllOf(HasSubstr("200 OK"), HasSubstr("\r\n\r\nok\nHTTP/1.1 404")));
  // A body is not read, so nothing may follow it.
  EXPECT_THAT(Ask(server->port(), "GET /healthz HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"),
              HasSubstr("Connection: close"));
  EXPECT_THAT(Ask(server->port(), "GET /healthz HTTP/1.0\r\n\r\n"), HasSubstr("ok"));
}

TEST(Server, IdleClientsMakeRoomForOthers) {
  const auto server = StartServer();
  const std::string_view request = "GET /healthz HTTP/1.1\r\n\r\n";
  std::vector<int> idle(40);
  for (int& fd : idle) {
    fd = Dial(server->port());
    EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    char buffer[512];
    EXPECT_GT(recv(fd, buffer, sizeof buffer, 0), 0);
  }
  // The first has been closed; the last is still served.
  char byte = 0;
  EXPECT_EQ(recv(idle.front(), &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_EQ(send(idle.back(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  EXPECT_EQ(recv(idle.back(), &byte, 1, 0), 1);
  std::ranges::for_each(idle, close);
}

TEST(Server, AddressesAsFlagsWriteThem) {
  const auto answer = [](std::string_view) { return Response{}; };
  EXPECT_TRUE(Server::Start(":0", answer).has_value());
  for (const char* wrong : {"", "localhost", "host:port", "no.such.address:1"}) {
    EXPECT_EQ(Server::Start(wrong, answer).error().kind, ErrorKind::kInvalid) << wrong;
  }
  const auto server = StartServer();
  EXPECT_FALSE(Server::Start("127.0.0.1:" + std::to_string(server->port()), answer).has_value());
}

}  // namespace
}  // namespace gantry::http
