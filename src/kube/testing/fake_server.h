// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kube/config.h"

namespace gantry::kube {

// An API server on 127.0.0.1, without TLS, whose responses a test provides.
class FakeServer {
 public:
  struct Request {
    std::string method;
    std::string target;
    std::string authorization;
    std::string body;
  };
  struct Reply {
    int status = 200;
    std::string body = "{}";
    std::string header = {};  // further lines, each ending with "\r\n"
    bool silent = false;      // the stream stays open and silent after the body
  };
  // Called by one thread at a time.
  using Answer = std::function<Reply(const Request& request)>;

  explicit FakeServer(Answer answer);
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  [[nodiscard]] Config config() const;
  [[nodiscard]] int requests() const { return requests_; }

 private:
  void Accept();
  void Serve(int fd);

  const Answer answer_;
  int listener_ = -1;
  int wake_ = -1;  // an eventfd that ends all threads
  uint16_t port_ = 0;
  std::atomic<int> requests_ = 0;
  std::mutex answering_;
  std::vector<std::jthread> visitors_;
  std::jthread accepting_;
};

}  // namespace gantry::kube
