// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/paths.h"
#include "http/web_config.h"

struct ssl_ctx_st;
struct ssl_st;

namespace gantry::http {

// A server's certificate and whose certificates it accepts, loaded once for many connections.
class ServerTls {
 public:
  // Reads the files that the settings name. kInvalid names the field that can't be used.
  static Result<std::shared_ptr<const ServerTls>> Create(const TlsSettings& settings);
  ~ServerTls();
  ServerTls(const ServerTls&) = delete;
  ServerTls& operator=(const ServerTls&) = delete;
  [[nodiscard]] ssl_ctx_st* native() const { return context_; }
  [[nodiscard]] const std::vector<std::string>& allowed_sans() const { return allowed_sans_; }

 private:
  ServerTls(ssl_ctx_st* context, std::vector<std::string> allowed_sans)
      : context_(context), allowed_sans_(std::move(allowed_sans)) {}
  ssl_ctx_st* const context_;
  const std::vector<std::string> allowed_sans_;
};

// The bytes of one accepted connection. Nothing blocks.
class Stream {
 public:
  // How many bytes were read or written; if none, for which event of poll(2) to wait; if neither,
  // the connection is over.
  struct Progress {
    size_t bytes = 0;
    short wait = 0;
  };

  // Takes the non-blocking socket. Without TLS `tls` is empty.
  Stream(Fd fd, std::shared_ptr<const ServerTls> tls);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Progress Read(char* buffer, size_t size);
  Progress Write(std::string_view bytes);
  [[nodiscard]] int fd() const { return fd_; }
  // Whether bytes have come of which poll(2) doesn't know any more.
  [[nodiscard]] bool buffered() const;

 private:
  [[nodiscard]] Progress Judge(int result) const;

  const Fd file_;
  const int fd_;
  const std::shared_ptr<const ServerTls> tls_;
  ssl_st* ssl_ = nullptr;
};

}  // namespace gantry::http
