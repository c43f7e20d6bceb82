// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/paths.h"

namespace gantry::http {

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

// A program's metrics in Prometheus' text format 0.0.4, and after them what its process uses.
Response MetricsResponse(std::string metrics);

struct Site;

// Answers GET and HEAD of a few paths (/healthz, /readyz, /metrics) over HTTP/1.1, compressed if
// the client asks for it. One thread that sleeps until someone connects; at most 32 connections,
// each request with 10 s to be done, and 5 minutes until the next one. One more connection takes
// the place of one that waits for a request, or of the oldest.
class Server {
 public:
  // The path comes without its query. Called from the server's thread; must not block.
  using Handler = std::function<Response(std::string_view path)>;

  // Address as flags write it: ":8080", "127.0.0.1:8080", "[::1]:0". kInvalid if it can't be read,
  // else as bind(2) fails. With a web configuration (http/web_config.h) the server has what that
  // says: TLS, passwords, headers. It and its certificates are read again when they change; files
  // that can't be used are kInvalid at the start and a line of the log later.
  static Result<std::unique_ptr<Server>> Start(std::string_view address, Handler handler,
                                               const std::string& web_config_file = "");
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The port that is really listened on (for port 0).
  [[nodiscard]] uint16_t port() const { return port_; }

 private:
  Server(Fd listener, std::unique_ptr<Site> site);
  void Run();

  const Fd listener_;
  const Fd wake_;  // an eventfd that ends Run
  const uint16_t port_;
  const std::unique_ptr<Site> site_;
  std::jthread thread_;
};

}  // namespace gantry::http
