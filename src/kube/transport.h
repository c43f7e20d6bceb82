// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "http/http.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/request_counts.h"
#include "kube/socket.h"
#include "kube/token.h"

namespace gantry::kube {

struct HttpCall {
  std::string_view method;
  std::string target;  // path and query
  std::string body = {};
  std::string_view content_type = {};
  // After a response 429 or 503 with Retry-After, waits and repeats the call.
  bool wait_when_told = true;
  // Bounds the silence between two pieces of the body instead of the entire call (streams).
  std::chrono::milliseconds idle_limit{0};
  std::chrono::milliseconds timeout{30'000};
  std::stop_token stop = {};
};

struct HttpAnswer {
  int status = 0;
  std::string body;  // of unsuccessful responses only: others went to the sink
};

// Sends HTTP calls over pooled connections with the config's credentials. Thread-safe.
class Transport {
 public:
  static Result<std::unique_ptr<Transport>> Create(const Config& config,
                                                   const ClientOptions& options,
                                                   std::stop_token stop);

  // Called with the pieces of a successful (2xx) response's body as they arrive.
  using BodySink = std::function<void(std::string_view piece)>;
  Result<HttpAnswer> Send(const HttpCall& call, const BodySink& body);

  [[nodiscard]] int open_connections() const { return open_; }
  [[nodiscard]] const RequestCounts& counts() const { return counts_; }

 private:
  struct Connection {
    Connection(std::unique_ptr<Socket> made, std::atomic<int>& counter)
        : socket(std::move(made)), open(counter) {
      ++open;
    }
    ~Connection() { --open; }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    std::unique_ptr<Socket> socket;
    std::atomic<int>& open;
  };
  struct Attempt;
  struct Idle {
    std::unique_ptr<Connection> connection;
    SteadyTime since;
  };

  Transport(const Config& config, const ClientOptions& options, std::unique_ptr<TlsContext> tls,
            std::stop_token stop);
  std::unique_ptr<Connection> TakeIdle();
  void Release(std::unique_ptr<Connection> connection);
  Status Try(const HttpCall& call, const BodySink& body, Attempt& attempt);
  Status ReadAnswer(const HttpCall& call, Connection& connection, http::ResponseReader& reader,
                    Attempt& attempt);
  std::string RequestText(const HttpCall& call, std::string_view token) const;

  const Config config_;
  const ClientOptions options_;
  const std::unique_ptr<TlsContext> tls_;
  const std::stop_token stop_;
  Token token_;
  RequestCounts counts_;
  std::atomic<int> open_ = 0;
  std::mutex mutex_;
  std::deque<Idle> idle_;
};

}  // namespace gantry::kube
