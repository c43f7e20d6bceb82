// SPDX-License-Identifier: Apache-2.0
// How do bytes travel to and from an API server, with deadlines and a stop from another thread?
// Over non-blocking sockets and OpenSSL under poll(2). No event loop: each call waits in its own
// thread, and a connection costs one descriptor besides OpenSSL's state.
#include "kube/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "http/openssl.h"

namespace gantry::kube {
namespace {

bool IsAddress(const std::string& host) {
  in6_addr parsed{};
  return inet_pton(AF_INET, host.c_str(), &parsed) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
}

Status TrustAuthorities(SSL_CTX* context, const Config& config) {
  if (config.insecure_skip_verify) {
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    return {};
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (config.ca_pem.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    return {};
  }
  return http::TrustAuthorities(context, config.ca_pem, "read certificate authority");
}

Status UseClientCertificate(SSL_CTX* context, const Config& config) {
  if (config.client_certificate_pem.empty()) {
    return {};
  }
  TRY(http::UseCertificate(context, config.client_certificate_pem, "read client certificate"));
  return http::UseKey(context, config.client_key_pem, "read client key");
}

// --- connecting -----------------------------------------------------------------------------

struct AddressesFree {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};

// The minimum for each of several addresses: a round trip, and one more after a second if the first
// packet is lost.
constexpr std::chrono::seconds kAddressAtLeast{2};

// The kernel alone notices a peer that vanished silently, after a minute.
void KeepAlive(int fd) {
  const auto set = [fd](int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

Result<int> ConnectTo(const addrinfo& address, SteadyTime deadline, const Interrupt& interrupt) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return FailErrno("open socket", errno);
  }
  Status status;
  if (connect(fd, address.ai_addr, address.ai_addrlen) != 0) {
    int error = errno;
    if (error == EINPROGRESS) {
      status = interrupt.Wait(fd, POLLOUT, deadline);
      socklen_t size = sizeof error;
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (status.has_value() && error != 0) {
      status = Fail(ErrorKind::kUnavailable, FailErrno("connect", error).error().message);
    }
  }
  if (!status.has_value()) {
    close(fd);
    return std::unexpected(std::move(status).error());
  }
  KeepAlive(fd);
  return fd;
}

Result<int> ConnectToHost(const Config& config, SteadyTime deadline, const Interrupt& interrupt) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = IsAddress(config.host) ? AI_NUMERICHOST | AI_NUMERICSERV : AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(config.port);
  const int failed = getaddrinfo(config.host.c_str(), port.c_str(), &hints, &found);
  if (failed != 0) {
    return Fail(ErrorKind::kUnavailable,
                format("resolve {}: {}", config.host, gai_strerror(failed)));
  }
  const std::unique_ptr<addrinfo, AddressesFree> addresses(found);
  return ConnectToFirst(found, deadline, interrupt);
}

}  // namespace

Result<int> ConnectToFirst(const addrinfo* addresses, SteadyTime deadline,
                           const Interrupt& interrupt) {
  int left = 0;
  for (const addrinfo* address = addresses; address != nullptr; address = address->ai_next) {
    ++left;
  }
  Result<int> result = Fail(ErrorKind::kUnavailable, "connect: no address");
  for (const addrinfo* address = addresses; address != nullptr; address = address->ai_next) {
    const SteadyTime now = std::chrono::steady_clock::now();
    const auto share = std::max<std::chrono::nanoseconds>((deadline - now) / left, kAddressAtLeast);
    result = ConnectTo(*address, std::min(deadline, now + share), interrupt);
    if (result.has_value()) {
      break;
    }
    --left;
  }
  return result;
}

// --- TlsContext -------------------------------------------------------------------------------

Result<std::unique_ptr<TlsContext>> TlsContext::Create(const Config& config) {
  if (!config.tls) {
    return nullptr;
  }
  SSL_CTX* native = http::NewTlsContext(TLS_client_method());
  std::unique_ptr<TlsContext> context(new TlsContext(native));
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  TRY(TrustAuthorities(native, config));
  TRY(UseClientCertificate(native, config));
  return context;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

// --- Interrupt --------------------------------------------------------------------------------

void Interrupt::Wake::operator()() const { eventfd_write(fd, 1); }

Interrupt::EventFd::EventFd() : fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CHECK(fd >= 0); }

Interrupt::EventFd::~EventFd() { close(fd); }

Interrupt::Interrupt(std::stop_token first, std::stop_token second)
    : first_(std::move(first), Wake{event_.fd}), second_(std::move(second), Wake{event_.fd}) {}

Status Interrupt::Wait(int fd, short events, SteadyTime deadline) const {
  pollfd waits[] = {{.fd = event_.fd, .events = POLLIN, .revents = 0},
                    {.fd = fd, .events = events, .revents = 0}};
  while (true) {
    int timeout = -1;
    if (deadline != SteadyTime::max()) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) {
        return Fail(ErrorKind::kTimeout, "timed out");
      }
      timeout = static_cast<int>(std::min<long long>(left.count(), 86'400'000));
    }
    const int ready = poll(waits, 2, timeout);
    if (ready < 0 && errno != EINTR) {
      return FailErrno("poll", errno);
    }
    if (ready > 0 && waits[0].revents != 0) {
      return Fail(ErrorKind::kUnavailable, "stopped");
    }
    if (ready > 0 && waits[1].revents != 0) {
      return {};
    }
  }
}

// --- Socket -----------------------------------------------------------------------------------

Result<std::unique_ptr<Socket>> Socket::Connect(const Config& config, const TlsContext* tls,
                                                SteadyTime deadline, const Interrupt& interrupt) {
  const auto context = [&config] { return format("connect {}", config.ServerUrl()); };
  const Result<int> fd = ConnectToHost(config, deadline, interrupt);
  if (!fd.has_value()) {
    return std::unexpected(fd.error().In(context()));
  }
  std::unique_ptr<Socket> made(new Socket(*fd));
  if (tls != nullptr) {
    const Status shaken = made->Handshake(config, *tls, deadline, interrupt);
    if (!shaken.has_value()) {
      return std::unexpected(shaken.error().In(context()));
    }
  }
  return made;
}

Socket::~Socket() {
  if (ssl_ != nullptr) {
    // Without waiting for the peer's close_notify; a full send buffer may drop it, which is
    // allowed.
    SSL_shutdown(ssl_);
    ERR_clear_error();
    SSL_free(ssl_);
  }
  close(fd_);
}

Status Socket::Handshake(const Config& config, const TlsContext& tls, SteadyTime deadline,
                         const Interrupt& interrupt) {
  ssl_ = SSL_new(tls.native());
  CHECK(ssl_ != nullptr);
  http::UseSocket(ssl_, &fd_);
  const std::string& name = config.server_name.empty() ? config.host : config.server_name;
  if (IsAddress(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), name.c_str());
  } else {
    SSL_set1_host(ssl_, name.c_str());
    SSL_ctrl(ssl_, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(name.c_str()));
  }
  while (true) {
    ERR_clear_error();
    const int result = SSL_connect(ssl_);
    if (result == 1) {
      return {};
    }
    const long verdict = SSL_get_verify_result(ssl_);
    const Status waited = WaitForTls(result, "shake hands", deadline, interrupt);
    if (!waited.has_value() && verdict != X509_V_OK) {
      return Fail(ErrorKind::kUnavailable, format("verify the server's certificate for {}: {}",
                                                  name, X509_verify_cert_error_string(verdict)));
    }
    TRY(waited);
  }
}

Status Socket::WaitForTls(int result, std::string_view verb, SteadyTime deadline,
                          const Interrupt& interrupt) {
  const int error_number = errno;
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return interrupt.Wait(fd_, POLLIN, deadline);
    case SSL_ERROR_WANT_WRITE:
      return interrupt.Wait(fd_, POLLOUT, deadline);
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      return Fail(ErrorKind::kUnavailable, result == 0 || error_number == 0
                                               ? format("{}: connection closed", verb)
                                               : FailErrno(verb, error_number).error().message);
    default:
      return Fail(ErrorKind::kUnavailable, format("{}: tls: {}", verb, http::TlsReason()));
  }
}

Status Socket::Write(std::string_view bytes, SteadyTime deadline, const Interrupt& interrupt) {
  while (!bytes.empty()) {
    if (ssl_ != nullptr) {
      ERR_clear_error();
      const int sent = SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
      if (sent > 0) {
        bytes.remove_prefix(static_cast<size_t>(sent));
      } else {
        TRY(WaitForTls(sent, "write", deadline, interrupt));
      }
      continue;
    }
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      TRY(interrupt.Wait(fd_, POLLOUT, deadline));
    } else if (errno != EINTR) {
      return Fail(ErrorKind::kUnavailable, FailErrno("write", errno).error().message);
    }
  }
  return {};
}

Result<size_t> Socket::Read(char* buffer, size_t size, SteadyTime deadline,
                            const Interrupt& interrupt) {
  while (true) {
    if (ssl_ != nullptr) {
      ERR_clear_error();
      const int got = SSL_read(ssl_, buffer, static_cast<int>(size));
      if (got > 0) {
        return static_cast<size_t>(got);
      }
      if (SSL_get_error(ssl_, got) == SSL_ERROR_ZERO_RETURN) {
        return size_t{0};
      }
      TRY(WaitForTls(got, "read", deadline, interrupt));
      continue;
    }
    const ssize_t got = recv(fd_, buffer, size, 0);
    if (got >= 0) {
      return static_cast<size_t>(got);
    }
    if (errno == EAGAIN) {
      TRY(interrupt.Wait(fd_, POLLIN, deadline));
    } else if (errno != EINTR) {
      return Fail(ErrorKind::kUnavailable, FailErrno("read", errno).error().message);
    }
  }
}

bool Socket::Reusable() const {
  char byte = 0;
  return recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

}  // namespace gantry::kube
