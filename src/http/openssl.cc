// SPDX-License-Identifier: Apache-2.0
// How a socket, a certificate and a key get into OpenSSL. 32 KB of buffers of each connection are
// given back between records (SSL_MODE_RELEASE_BUFFERS): watches are silent for minutes.
#include "http/openssl.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "base/text.h"

namespace gantry::http {
namespace {

// --- a BIO over a socket that never raises SIGPIPE, as OpenSSL's own would --------------------

int FdOf(BIO* bio) { return *static_cast<const int*>(BIO_get_data(bio)); }

int BioWrite(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = send(FdOf(bio), bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
    BIO_set_retry_write(bio);
  }
  return static_cast<int>(sent);
}

int BioRead(BIO* bio, char* buffer, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = recv(FdOf(bio), buffer, static_cast<size_t>(size), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    BIO_set_retry_read(bio);
  }
  return static_cast<int>(got);
}

long BioControl(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* SocketBio() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "gantry socket");
    CHECK(made != nullptr);
    BIO_meth_set_write(made, BioWrite);
    BIO_meth_set_read(made, BioRead);
    BIO_meth_set_ctrl(made, BioControl);
    return made;
  }();
  return method;
}

struct BioFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPointer = std::unique_ptr<BIO, BioFree>;

BioPointer MemoryBio(std::string_view text) {
  return BioPointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Every certificate of a PEM text goes to `take`, which returns whether it could be used.
template <typename Take>
Status EachCertificate(std::string_view pem, std::string_view what, Take take) {
  const BioPointer bio = MemoryBio(pem);
  int count = 0;
  while (X509* certificate = PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr)) {
    const bool taken = take(certificate, count);
    X509_free(certificate);
    if (!taken) {
      return Fail(ErrorKind::kInvalid, format("{}: {}", what, TlsReason()));
    }
    ++count;
  }
  // The end of the text is reported as an error too.
  ERR_clear_error();
  if (count == 0) {
    return Fail(ErrorKind::kInvalid, format("{}: no PEM certificate in it", what));
  }
  return {};
}

}  // namespace

ssl_ctx_st* NewTlsContext(const ssl_method_st* method) {
  // The machine's openssl.cnf is not ours, and reading it costs more than all the rest.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
  SSL_CTX* context = SSL_CTX_new(method);
  CHECK(context != nullptr);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return context;
}

Status UseCertificate(ssl_ctx_st* context, std::string_view pem, std::string_view what) {
  return EachCertificate(pem, what, [context](X509* certificate, int index) {
    return index == 0 ? SSL_CTX_use_certificate(context, certificate) == 1
                      : SSL_CTX_add1_chain_cert(context, certificate) == 1;
  });
}

Status UseKey(ssl_ctx_st* context, std::string_view pem, std::string_view what) {
  // An encrypted key must not make OpenSSL ask on the terminal.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const BioPointer bio = MemoryBio(pem);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr);
  const bool used = key != nullptr && SSL_CTX_use_PrivateKey(context, key) == 1;
  EVP_PKEY_free(key);
  if (!used) {
    return Fail(ErrorKind::kInvalid, format("{}: {}", what, TlsReason()));
  }
  return {};
}

Status TrustAuthorities(ssl_ctx_st* context, std::string_view pem, std::string_view what) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  // Who is named there is trusted, an intermediate authority without its root too, as Go has it.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  return EachCertificate(pem, what, [store](X509* certificate, int) {
    return X509_STORE_add_cert(store, certificate) == 1;
  });
}

void UseSocket(ssl_st* connection, const int* fd) {
  BIO* bio = BIO_new(SocketBio());
  CHECK(bio != nullptr);
  BIO_set_data(bio, const_cast<int*>(fd));
  BIO_set_init(bio, 1);
  SSL_set_bio(connection, bio, bio);
}

std::string TlsReason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason given" : reason;
}

}  // namespace gantry::http
