// SPDX-License-Identifier: Apache-2.0
// How a server speaks TLS, and to whom: OpenSSL as Go's crypto/tls is set by the same fields.
// There are no sessions to resume: each handshake meets the certificates that count now.
#include "http/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "http/openssl.h"

namespace gantry::http {
namespace {

int NumberOf(TlsVersion version) {
  switch (version) {
    case TlsVersion::k10:
      return TLS1_VERSION;
    case TlsVersion::k11:
      return TLS1_1_VERSION;
    case TlsVersion::k12:
      return TLS1_2_VERSION;
    case TlsVersion::k13:
      return TLS1_3_VERSION;
  }
  return TLS1_3_VERSION;
}

// The name as Go's crypto/x509 spells it; empty for the kinds that it doesn't compare.
std::string TextOf(const GENERAL_NAME* name) {
  const auto text = [](const ASN1_STRING* string) {
    return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
                       static_cast<size_t>(ASN1_STRING_length(string)));
  };
  switch (name->type) {
    case GEN_DNS:
    case GEN_EMAIL:
    case GEN_URI:
      return text(name->d.ia5);
    case GEN_IPADD: {
      const std::string bytes = text(name->d.iPAddress);
      char buffer[INET6_ADDRSTRLEN] = {};
      const int family = bytes.size() == 4 ? AF_INET : AF_INET6;
      return (bytes.size() == 4 || bytes.size() == 16) &&
                     inet_ntop(family, bytes.data(), buffer, sizeof buffer) != nullptr
                 ? buffer
                 : "";
    }
    default:
      return "";
  }
}

bool HasAllowedName(X509* certificate, const std::vector<std::string>& allowed) {
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  bool found = false;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const std::string text = TextOf(sk_GENERAL_NAME_value(names, i));
    found = found || (!text.empty() && std::ranges::find(allowed, text) != allowed.end());
  }
  GENERAL_NAMES_free(names);
  return found;
}

// Called for each certificate of the client's chain, its own last. `verified` is replaced by 1 for
// the policies that take any certificate.
int Accept(int verified, X509_STORE_CTX* chain, bool any) {
  const auto* ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const auto* tls = static_cast<const ServerTls*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  if (verified == 0 && !any) {
    return 0;
  }
  if (!tls->allowed_sans().empty() && X509_STORE_CTX_get_error_depth(chain) == 0 &&
      !HasAllowedName(X509_STORE_CTX_get0_cert(chain), tls->allowed_sans())) {
    X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
  }
  return 1;
}

int AcceptVerified(int verified, X509_STORE_CTX* chain) { return Accept(verified, chain, false); }
int AcceptAny(int verified, X509_STORE_CTX* chain) { return Accept(verified, chain, true); }

void AskForCertificate(SSL_CTX* context, ClientAuth type) {
  switch (type) {
    case ClientAuth::kNone:
      SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
      return;
    case ClientAuth::kRequest:
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER, AcceptAny);
      return;
    case ClientAuth::kRequireAny:
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, AcceptAny);
      return;
    case ClientAuth::kVerifyIfGiven:
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER, AcceptVerified);
      return;
    case ClientAuth::kRequireAndVerify:
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                         AcceptVerified);
      return;
  }
}

Result<std::string> PemOf(const PemSource& source, std::string_view field) {
  if (source.file.empty()) {
    return source.text;
  }
  Result<std::string> text = ReadFile(source.file);
  if (!text.has_value()) {
    return Fail(ErrorKind::kInvalid,
                format("tls_server_config.{}: {}", field, text.error().message));
  }
  return text;
}

Status UseCertificates(SSL_CTX* context, const TlsSettings& settings) {
  TRY_ASSIGN(const std::string certificate, PemOf(settings.certificate, "cert_file"));
  TRY(UseCertificate(context, certificate, "tls_server_config.cert_file"));
  TRY_ASSIGN(const std::string key, PemOf(settings.key, "key_file"));
  TRY(UseKey(context, key, "tls_server_config.key_file"));
  if (settings.client_authorities.empty()) {
    if (settings.client_auth >= ClientAuth::kVerifyIfGiven) {
      SSL_CTX_set_default_verify_paths(context);
    }
    return {};
  }
  TRY_ASSIGN(const std::string authorities, PemOf(settings.client_authorities, "client_ca_file"));
  return TrustAuthorities(context, authorities, "tls_server_config.client_ca_file");
}

Status Choose(SSL_CTX* context, const TlsSettings& settings) {
  SSL_CTX_set_min_proto_version(context, NumberOf(settings.min_version));
  SSL_CTX_set_max_proto_version(context, NumberOf(settings.max_version));
  if (settings.min_version < TlsVersion::k12) {
    // OpenSSL counts their signatures as broken, and refuses them above this level.
    SSL_CTX_set_security_level(context, 0);
  }
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  if (settings.prefer_server_cipher_suites) {
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
  }
  if (!settings.cipher_suites.empty() &&
      SSL_CTX_set_cipher_list(context, Join(settings.cipher_suites, ":").c_str()) != 1) {
    return Fail(ErrorKind::kInvalid, format("tls_server_config.cipher_suites: {}", TlsReason()));
  }
  if (!settings.curves.empty() &&
      SSL_CTX_set1_groups_list(context, Join(settings.curves, ":").c_str()) != 1) {
    return Fail(ErrorKind::kInvalid,
                format("tls_server_config.curve_preferences: {}", TlsReason()));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const ServerTls>> ServerTls::Create(const TlsSettings& settings) {
  SSL_CTX* context = NewTlsContext(TLS_server_method());
  std::shared_ptr<const ServerTls> tls(new ServerTls(context, settings.client_allowed_sans));
  SSL_CTX_set_app_data(context, const_cast<ServerTls*>(tls.get()));
  TRY(Choose(context, settings));
  TRY(UseCertificates(context, settings));
  AskForCertificate(context, settings.client_auth);
  return tls;
}

ServerTls::~ServerTls() { SSL_CTX_free(context_); }

// --- Stream -----------------------------------------------------------------------------------

Stream::Stream(Fd fd, std::shared_ptr<const ServerTls> tls)
    : file_(std::move(fd)), fd_(file_.get()), tls_(std::move(tls)) {
  if (tls_ != nullptr) {
    ssl_ = SSL_new(tls_->native());
    CHECK(ssl_ != nullptr);
    UseSocket(ssl_, &fd_);
    SSL_set_accept_state(ssl_);
  }
}

Stream::~Stream() {
  if (ssl_ != nullptr) {
    // Without waiting for the peer's; a full send buffer may swallow it, which is allowed.
    SSL_shutdown(ssl_);
    ERR_clear_error();
    SSL_free(ssl_);
  }
}

// What a call into OpenSSL came to that moved no byte.
Stream::Progress Stream::Judge(int result) const {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return {.wait = POLLIN};
    case SSL_ERROR_WANT_WRITE:
      return {.wait = POLLOUT};
    default:
      break;
  }
  if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) {
    // As Go's server answers it.
    constexpr std::string_view kPlain =
        "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    static_cast<void>(send(fd_, kPlain.data(), kPlain.size(), MSG_NOSIGNAL));
    // What is not read when the socket closes would reset the connection, and the response with it.
    char rest[16'384];
    static_cast<void>(recv(fd_, rest, sizeof rest, MSG_DONTWAIT));
  }
  ERR_clear_error();
  return {};
}

Stream::Progress Stream::Read(char* buffer, size_t size) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    const int got = SSL_read(ssl_, buffer, static_cast<int>(size));
    return got > 0 ? Progress{.bytes = static_cast<size_t>(got)} : Judge(got);
  }
  const ssize_t got = recv(fd_, buffer, size, 0);
  if (got >= 0) {
    return {.bytes = static_cast<size_t>(got)};
  }
  return {.wait = errno == EAGAIN || errno == EINTR ? short{POLLIN} : short{0}};
}

Stream::Progress Stream::Write(std::string_view bytes) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    const int sent = SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
    return sent > 0 ? Progress{.bytes = static_cast<size_t>(sent)} : Judge(sent);
  }
  const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) {
    return {.bytes = static_cast<size_t>(sent)};
  }
  return {.wait = errno == EAGAIN || errno == EINTR ? short{POLLOUT} : short{0}};
}

bool Stream::buffered() const { return ssl_ != nullptr && SSL_pending(ssl_) > 0; }

}  // namespace gantry::http
