// SPDX-License-Identifier: Apache-2.0
// When is an HTTP call repeated? When the server had closed the kept connection, after a 401 if the
// token file holds another token by now, and after a 429 or 503 with Retry-After. Nothing else is
// repeated here: callers decide about all other errors.
#include "kube/transport.h"

#include <algorithm>

#include "base/text.h"
#include "http/http.h"
#include "kube/status.h"

namespace gantry::kube {
namespace {

constexpr size_t kReadBytes = 16'384;
// The limit for the body of an unsuccessful response; a metav1.Status is far smaller.
constexpr size_t kMaxErrorBody = 262'144;

bool Succeeded(int status) { return status >= 200 && status < 300; }

}  // namespace

struct Transport::Attempt {
  const Interrupt& interrupt;
  const SteadyTime deadline;
  std::string token;
  bool fresh = false;   // on a new connection only
  bool reused = false;  // whether it went over a kept one
  bool answered = false;
  HttpAnswer answer = {};
  std::optional<std::chrono::seconds> retry_after = {};
};

Result<std::unique_ptr<Transport>> Transport::Create(const Config& config,
                                                     const ClientOptions& options,
                                                     std::stop_token stop) {
  TRY_ASSIGN(std::unique_ptr<TlsContext> tls, TlsContext::Create(config));
  return std::unique_ptr<Transport>(
      new Transport(config, options, std::move(tls), std::move(stop)));
}

Transport::Transport(const Config& config, const ClientOptions& options,
                     std::unique_ptr<TlsContext> tls, std::stop_token stop)
    : config_(config),
      options_(options),
      tls_(std::move(tls)),
      stop_(std::move(stop)),
      token_(config) {}

std::unique_ptr<Transport::Connection> Transport::TakeIdle() {
  const SteadyTime expired = std::chrono::steady_clock::now() - options_.idle_expiry;
  const std::scoped_lock lock(mutex_);
  std::erase_if(idle_, [expired](const Idle& idle) {
    return idle.since < expired || !idle.connection->socket->Reusable();
  });
  if (idle_.empty()) {
    return nullptr;
  }
  // The newest, so that the older ones can expire.
  std::unique_ptr<Connection> taken = std::move(idle_.back().connection);
  idle_.pop_back();
  return taken;
}

void Transport::Release(std::unique_ptr<Connection> connection) {
  const std::scoped_lock lock(mutex_);
  if (idle_.size() < static_cast<size_t>(std::max(0, options_.max_idle_connections))) {
    idle_.push_back(
        {.connection = std::move(connection), .since = std::chrono::steady_clock::now()});
  }
}

std::string Transport::RequestText(const HttpCall& call, std::string_view token) const {
  std::string text = format(
      "{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: gantry/{} ({})\r\n"
      "Accept: application/json\r\n",
      call.method, config_.path_prefix, call.target, config_.HostPort(), GANTRY_VERSION,
      options_.component);
  if (!token.empty()) {
    text += format("Authorization: Bearer {}\r\n", token);
  }
  if (options_.max_idle_connections <= 0) {
    text += "Connection: close\r\n";
  }
  if (!call.content_type.empty()) {
    text +=
        format("Content-Type: {}\r\nContent-Length: {}\r\n", call.content_type, call.body.size());
  }
  text += "\r\n";
  text += call.body;
  return text;
}

Status Transport::ReadAnswer(const HttpCall& call, Connection& connection,
                             http::ResponseReader& reader, Attempt& attempt) {
  char buffer[kReadBytes];
  while (!reader.done()) {
    const bool streaming = call.idle_limit.count() > 0 && Succeeded(reader.status());
    const SteadyTime deadline =
        streaming ? std::chrono::steady_clock::now() + call.idle_limit : attempt.deadline;
    TRY_ASSIGN(const size_t got,
               connection.socket->Read(buffer, sizeof buffer, deadline, attempt.interrupt));
    if (got == 0) {
      return reader.End();
    }
    TRY(reader.Feed(std::string_view(buffer, got)));
    attempt.answered = true;
    if (attempt.answer.status == 0 && reader.status() != 0) {
      attempt.answer.status = reader.status();
      counts_.Count(call.method, reader.status());
    }
  }
  return {};
}

Status Transport::Try(const HttpCall& call, const BodySink& body, Attempt& attempt) {
  attempt.answer = {};
  attempt.answered = false;
  std::unique_ptr<Connection> connection = attempt.fresh ? nullptr : TakeIdle();
  attempt.reused = connection != nullptr;
  if (connection == nullptr) {
    TRY_ASSIGN(std::unique_ptr<Socket> socket,
               Socket::Connect(config_, tls_.get(), attempt.deadline, attempt.interrupt));
    connection = std::make_unique<Connection>(std::move(socket), open_);
  }
  http::ResponseReader* head = nullptr;
  http::ResponseReader reader([&](std::string_view piece) {
    if (Succeeded(head->status())) {
      body(piece);
    } else if (attempt.answer.body.size() < kMaxErrorBody) {
      attempt.answer.body += piece;
    }
  });
  head = &reader;
  TRY(connection->socket->Write(RequestText(call, attempt.token), attempt.deadline,
                                attempt.interrupt));
  TRY(ReadAnswer(call, *connection, reader, attempt));
  attempt.retry_after =
      reader.retry_after().and_then([](const std::string& text) { return ParseRetryAfter(text); });
  if (reader.keep_alive()) {
    Release(std::move(connection));
  }
  return {};
}

Result<HttpAnswer> Transport::Send(const HttpCall& call, const BodySink& body) {
  const Interrupt interrupt(stop_, call.stop);
  Attempt attempt{.interrupt = interrupt,
                  .deadline = std::chrono::steady_clock::now() + call.timeout,
                  .token = ""};
  bool refreshed = false;
  while (true) {
    TRY_ASSIGN(attempt.token, token_.Now());
    const Status tried = Try(call, body, attempt);
    if (!tried.has_value()) {
      // A server may close a kept connection just when it is reused. An idempotent request without
      // a byte of response is sent again; a POST is not.
      const bool stale = attempt.reused && !attempt.answered && call.method != "POST" &&
                         tried.error().kind == ErrorKind::kUnavailable && !stop_.stop_requested() &&
                         !call.stop.stop_requested();
      if (!stale) {
        if (attempt.answer.status == 0) {
          counts_.Count(call.method, 0);
        }
        return std::unexpected(tried.error());
      }
      attempt.fresh = true;
      continue;
    }
    const int status = attempt.answer.status;
    if (status == 401 && !refreshed && token_.Refresh(attempt.token)) {
      refreshed = true;
      continue;
    }
    if ((status == 429 || status == 503) && call.wait_when_told && attempt.retry_after) {
      const SteadyTime again = std::chrono::steady_clock::now() + *attempt.retry_after;
      if (again < attempt.deadline) {
        const Status waited = interrupt.Wait(-1, 0, again);
        if (waited.error().kind == ErrorKind::kTimeout) {
          continue;
        }
        return std::unexpected(waited.error());
      }
    }
    return std::move(attempt.answer);
  }
}

}  // namespace gantry::kube
