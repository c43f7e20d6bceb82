// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/paths.h"

namespace gantry::http {

// A text that several responses have as their body, compressed once, by the first that needs it so.
// Not thread-safe: for the handler of one server.
class SharedBody {
 public:
  explicit SharedBody(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& gzip() const;

 private:
  const std::string text_;
  mutable std::string gzip_;  // empty: not made yet
};

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers = {};  // besides those of HTTP
  std::shared_ptr<const SharedBody> shared = {};                  // in place of `body`
};

struct ServerOptions {
  // http/web_config.h: TLS, passwords, headers. It and its certificates are read again when they
  // change; files that can't be used are kInvalid at the start and a line of the log later. Empty:
  // plain HTTP.
  std::string web_config_file = {};
  std::chrono::milliseconds read_timeout{10'000};   // until a request is complete
  std::chrono::milliseconds write_timeout{10'000};  // then, until its response is sent
};

// A program's metrics in Prometheus' text format 0.0.4, and after them what its process uses.
Response MetricsResponse(std::string metrics);

struct Site;

// Answers GET and HEAD of a few paths (/healthz, /readyz, /metrics) over HTTP/1.1, compressed if
// the client asks for it. One thread that sleeps until someone connects, and makes one response at
// a time; at most 32 connections, with 5 minutes until the next request. One more connection takes
// the place of one that waits for a request, or of the oldest.
class Server {
 public:
  // The path comes without its query. Called from the server's thread; must not block.
  using Handler = std::function<Response(std::string_view path)>;

  // Address as Listen reads it (http/listener.h). kInvalid if it can't be read, else as bind(2)
  // fails.
  static Result<std::unique_ptr<Server>> Start(std::string_view address, Handler handler,
                                               const ServerOptions& options = {});
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
