// SPDX-License-Identifier: Apache-2.0
// What one client gets: a request's head, a password if one is asked for, the handler's response,
// the next request.
#include "http/connection.h"

#include <poll.h>

#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "http/gzip.h"
#include "http/reply.h"

namespace gantry::http {
namespace {

constexpr size_t kMaxRequest = 16'384;
// As long as Prometheus keeps a connection that it doesn't use.
constexpr std::chrono::milliseconds kIdle = std::chrono::minutes(5);

std::shared_ptr<const ServerTls> TlsOf(const Site& site) {
  if (site.web_config == nullptr) {
    return nullptr;
  }
  site.web_config->Refresh();
  return site.web_config->tls();
}

}  // namespace

Connection::Connection(Fd fd, Site& site, SteadyTime now)
    : site_(site),
      stream_(std::move(fd), TlsOf(site)),
      deadline_(now + site.read_timeout),
      wait_(POLLIN) {}

bool Connection::Step(SteadyTime now, bool& may_check) {
  due_ = false;
  const bool was_sending = phase_ == Phase::kSending;
  if (phase_ == Phase::kReading && !Receive(now)) {
    return false;
  }
  if (phase_ == Phase::kChecking) {
    due_ = !may_check;
    if (due_) {
      return true;
    }
    may_check = false;
    if (site_.passwords.Check(site_.web_config->config().users, credentials_)) {
      Answer();
    } else {
      Reply({.status = 401, .body = "Unauthorized\n"}, false);
    }
  }
  if (phase_ != Phase::kSending) {
    return true;
  }
  if (!was_sending) {
    deadline_ = now + site_.write_timeout;
  }
  return Send(now);
}

// Reads until there is a request or nothing more to read; false when the client has gone.
bool Connection::Receive(SteadyTime now) {
  while (true) {
    TakeRequest();
    if (phase_ != Phase::kReading) {
      return true;
    }
    char buffer[4096];
    const Stream::Progress progress = stream_.Read(buffer, sizeof buffer);
    if (progress.bytes == 0) {
      wait_ = progress.wait;
      return progress.wait != 0;
    }
    if (idle_) {
      idle_ = false;
      deadline_ = now + site_.read_timeout;
    }
    in_.append(buffer, progress.bytes);
  }
}

// A request at the beginning of what has come, if it is whole.
void Connection::TakeRequest() {
  Result<std::optional<RequestHead>> read = ReadRequestHead(in_);
  if (!read.has_value() || (!read->has_value() && in_.size() > kMaxRequest)) {
    request_ = {};
    Reply({.status = 400, .body = "bad request\n"}, false);
    return;
  }
  std::optional<RequestHead>& head = *read;
  if (!head.has_value()) {
    return;
  }
  request_ = *std::move(head);
  in_.erase(0, request_.size);
  if (site_.web_config != nullptr) {
    site_.web_config->Refresh();
    const PasswordBook::Users& users = site_.web_config->config().users;
    if (!users.empty()) {
      std::optional<Credentials> given = ReadBasicAuthorization(request_.authorization);
      if (!given.has_value()) {
        Reply({.status = 401, .body = "Unauthorized\n"}, false);
        return;
      }
      if (!site_.passwords.Remembers(users, *given)) {
        credentials_ = std::move(*given);
        phase_ = Phase::kChecking;
        return;
      }
    }
  }
  Answer();
}

void Connection::Answer() {
  if (request_.method != "GET" && request_.method != "HEAD") {
    Reply({.status = 405, .body = "only GET and HEAD\n"}, request_.keep_alive);
    return;
  }
  const std::string_view target = request_.target;
  Reply(site_.handler(target.substr(0, target.find('?'))), request_.keep_alive);
}

void Connection::Reply(const Response& response, bool keep_alive) {
  ReplyForm form{.with_body = request_.method != "HEAD",
                 .gzip = AcceptsGzip(request_.accept_encoding),
                 .keep_alive = keep_alive};
  if (site_.web_config != nullptr) {
    form.headers = site_.web_config->config().headers;
  }
  out_ = FormatReply(response, form);
  sent_ = 0;
  keep_alive_ = keep_alive;
  credentials_ = {};
  phase_ = Phase::kSending;
}

bool Connection::Send(SteadyTime now) {
  while (sent_ < out_.size()) {
    const Stream::Progress progress = stream_.Write(std::string_view(out_).substr(sent_));
    if (progress.bytes == 0) {
      wait_ = progress.wait;
      return progress.wait != 0;
    }
    sent_ += progress.bytes;
  }
  out_ = {};
  phase_ = Phase::kReading;
  wait_ = POLLIN;
  idle_ = in_.empty();
  deadline_ = now + (idle_ ? kIdle : site_.read_timeout);
  due_ = !in_.empty() || stream_.buffered();
  return keep_alive_;
}

}  // namespace gantry::http
