// SPDX-License-Identifier: Apache-2.0
#include "kube/socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

namespace gantry::kube {
namespace {

using std::chrono::seconds;

struct Listener {
  explicit Listener(int backlog) : fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd, Plain(), size), 0);
    EXPECT_EQ(listen(fd, backlog), 0);
    EXPECT_EQ(getsockname(fd, Plain(), &size), 0);
  }
  ~Listener() { close(fd); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  sockaddr* Plain() { return reinterpret_cast<sockaddr*>(&address); }
  addrinfo Info(addrinfo* next) {
    addrinfo info{};
    info.ai_family = AF_INET;
    info.ai_addr = Plain();
    info.ai_addrlen = sizeof address;
    info.ai_next = next;
    return info;
  }

  const int fd;
  sockaddr_in address{};
};

TEST(ConnectToFirst, ASilentAddressLeavesTimeToTheNext) {
  Listener silent(0);
  // With its queue full, the kernel drops what else arrives.
  std::array<int, 4> waiting{};
  for (int& fd : waiting) {
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    EXPECT_TRUE(connect(fd, silent.Plain(), sizeof silent.address) == 0 || errno == EINPROGRESS);
  }
  Listener answers(4);
  addrinfo second = answers.Info(nullptr);
  const addrinfo first = silent.Info(&second);
  const Interrupt interrupt({}, {});
  const Result<int> fd =
      ConnectToFirst(&first, std::chrono::steady_clock::now() + seconds(4), interrupt);
  ASSERT_TRUE(fd.has_value()) << fd.error().message;
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  ASSERT_EQ(getpeername(*fd, reinterpret_cast<sockaddr*>(&peer), &size), 0);
  EXPECT_EQ(peer.sin_port, answers.address.sin_port);
  close(*fd);
  for (const int other : waiting) {
    close(other);
  }
}

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;

struct Party {
  PrivateKey key;
  Certificate certificate;
};

// With an extension, as openssl.cnf writes it; signed by itself without an issuer.
Party Issue(const char* name, const Party* issuer, int extension, const char* value) {
  Party party{PrivateKey(EVP_EC_gen("P-256")), Certificate(X509_new())};
  X509* made = party.certificate.get();
  X509_set_version(made, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
  X509_gmtime_adj(X509_getm_notBefore(made), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made), 3600);
  X509_set_pubkey(made, party.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  const Party& by = issuer == nullptr ? party : *issuer;
  X509_set_issuer_name(made, X509_get_subject_name(by.certificate.get()));
  X509_EXTENSION* added = X509V3_EXT_conf_nid(nullptr, nullptr, extension, value);
  EXPECT_EQ(X509_add_ext(made, added, -1), 1);
  X509_EXTENSION_free(added);
  EXPECT_GT(X509_sign(made, by.key.get(), EVP_sha256()), 0);
  return party;
}

std::string Pem(const Certificate& certificate) {
  const std::unique_ptr<BIO, Free<BIO_free_all>> text(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(text.get(), certificate.get());
  const char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return {bytes, static_cast<size_t>(size)};
}

TEST(Tls, EveryAuthorityThatIsNamedIsTrustedAndNoOther) {
  // The server writes to a client that has gone by then.
  std::signal(SIGPIPE, SIG_IGN);
  const Party root = Issue("root", nullptr, NID_basic_constraints, "critical,CA:TRUE");
  const Party between = Issue("between", &root, NID_basic_constraints, "critical,CA:TRUE");
  const Party server = Issue("server", &between, NID_subject_alt_name, "IP:127.0.0.1");
  const Party stranger = Issue("between", nullptr, NID_basic_constraints, "critical,CA:TRUE");
  const std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>> context(SSL_CTX_new(TLS_server_method()));
  ASSERT_EQ(SSL_CTX_use_certificate(context.get(), server.certificate.get()), 1);
  ASSERT_EQ(SSL_CTX_use_PrivateKey(context.get(), server.key.get()), 1);
  SSL_CTX_add1_chain_cert(context.get(), between.certificate.get());

  const std::vector<std::pair<const Party*, bool>> authorities = {
      {&root, true}, {&between, true}, {&stranger, false}};
  for (const auto& [authority, trusted] : authorities) {
    Listener listener(4);
    const std::jthread serving([&] {
      const int fd = accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
      SSL* ssl = SSL_new(context.get());
      SSL_set_fd(ssl, fd);
      SSL_accept(ssl);
      SSL_free(ssl);
      close(fd);
    });
    Config config;
    config.host = "127.0.0.1";
    config.port = ntohs(listener.address.sin_port);
    config.ca_pem = Pem(authority->certificate);
    const auto tls = TlsContext::Create(config).value();
    const Interrupt interrupt({}, {});
    const auto connected = Socket::Connect(
        config, tls.get(), std::chrono::steady_clock::now() + seconds(10), interrupt);
    EXPECT_EQ(connected.has_value(), trusted)
        << (connected.has_value() ? "" : connected.error().message);
  }
}

}  // namespace
}  // namespace gantry::kube
