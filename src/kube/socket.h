// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "kube/config.h"

struct addrinfo;
struct ssl_ctx_st;
struct ssl_st;

namespace gantry::kube {

// Certificates and keys, loaded once for all connections of a client.
class TlsContext {
 public:
  // nullptr for a config without TLS; kInvalid if a certificate or key can't be used.
  static Result<std::unique_ptr<TlsContext>> Create(const Config& config);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  [[nodiscard]] ssl_ctx_st* native() const { return context_; }

 private:
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* const context_;
};

// Makes a request to stop visible to poll(2).
class Interrupt {
 public:
  Interrupt(std::stop_token first, std::stop_token second);
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Blocks until `fd` (or nothing, if negative) is ready for `events`: kTimeout past the deadline,
  // kUnavailable when stopped.
  [[nodiscard]] Status Wait(int fd, short events, SteadyTime deadline) const;

 private:
  struct Wake {
    int fd;
    void operator()() const;
  };
  // Declared first: closed only when no callback can write to it.
  struct EventFd {
    EventFd();
    ~EventFd();
    EventFd(const EventFd&) = delete;
    EventFd& operator=(const EventFd&) = delete;
    const int fd;
  };
  const EventFd event_;
  std::stop_callback<Wake> first_;
  std::stop_callback<Wake> second_;
};

// A socket connected to the first address that answers. Each address gets its share of the time, so
// that a silent one leaves some for the next. kUnavailable or kTimeout: the failure of the last.
Result<int> ConnectToFirst(const addrinfo* addresses, SteadyTime deadline,
                           const Interrupt& interrupt);

// One TCP connection, with TLS if the config says so. Not thread-safe.
class Socket {
 public:
  // `tls` outlives the socket; null without TLS. Name resolution is the one step that may outlast
  // the deadline (by the resolver's own time-out).
  static Result<std::unique_ptr<Socket>> Connect(const Config& config, const TlsContext* tls,
                                                 SteadyTime deadline, const Interrupt& interrupt);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  Status Write(std::string_view bytes, SteadyTime deadline, const Interrupt& interrupt);
  // Blocks for at least one byte; 0 if the peer has closed.
  Result<size_t> Read(char* buffer, size_t size, SteadyTime deadline, const Interrupt& interrupt);
  // False if the peer has closed, or has sent unexpected bytes.
  [[nodiscard]] bool Reusable() const;

 private:
  explicit Socket(int fd) : fd_(fd) {}
  Status Handshake(const Config& config, const TlsContext& tls, SteadyTime deadline,
                   const Interrupt& interrupt);
  Status WaitForTls(int result, std::string_view verb, SteadyTime deadline,
                    const Interrupt& interrupt);

  const int fd_;
  ssl_st* ssl_ = nullptr;
};

}  // namespace gantry::kube
