// SPDX-License-Identifier: Apache-2.0
#include "http/web_config.h"

#include <gmock/gmock.h>

namespace gantry::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kHash = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi";

TEST(WebConfig, AnEmptyFileAsksForNothing) {
  for (const char* text : {"", "# nothing\n", "tls_server_config:\nbasic_auth_users:\n",
                           "tls_server_config:\n  min_version: TLS13\n"}) {
    const WebConfig config = ParseWebConfig(text, "/etc").value();
    EXPECT_FALSE(config.tls.has_value()) << text;
    EXPECT_THAT(config.users, IsEmpty()) << text;
    EXPECT_THAT(config.headers, IsEmpty()) << text;
    EXPECT_FALSE(config.http2) << text;
  }
}

TEST(WebConfig, EveryFieldIsRead) {
  const WebConfig config = ParseWebConfig(R"(
tls_server_config:
  cert_file: tls.crt
  key_file: /keys/tls.key
  client_ca_file: ca/ca.crt
  client_auth_type: RequireAndVerifyClientCert
  client_allowed_sans: [prometheus.monitoring.svc, 10.0.0.7]
  min_version: TLS10
  max_version: TLS12
  cipher_suites:
    - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
    - TLS_AES_128_GCM_SHA256
  curve_preferences: [CurveP256, X25519]
  prefer_server_cipher_suites: false
http_server_config:
  http2: true
  headers:
    Strict-Transport-Security: max-age=31536000
    X-Frame-Options: deny
    X-XSS-Protection: ""
basic_auth_users:
  prometheus: )" + std::string(kHash) + "\n",
                                          "/etc/exporter")
                               .value();
  ASSERT_TRUE(config.tls.has_value());
  const TlsSettings& tls = *config.tls;
  EXPECT_EQ(tls.certificate.file, "/etc/exporter/tls.crt");
  EXPECT_EQ(tls.key.file, "/keys/tls.key");
  EXPECT_EQ(tls.client_authorities.file, "/etc/exporter/ca/ca.crt");
  EXPECT_EQ(tls.client_auth, ClientAuth::kRequireAndVerify);
  EXPECT_THAT(tls.client_allowed_sans, ElementsAre("prometheus.monitoring.svc", "10.0.0.7"));
  EXPECT_EQ(tls.min_version, TlsVersion::k10);
  EXPECT_EQ(tls.max_version, TlsVersion::k12);
  EXPECT_THAT(tls.cipher_suites, ElementsAre("ECDHE-RSA-AES128-GCM-SHA256"));
  EXPECT_THAT(tls.curves, ElementsAre("P-256", "X25519"));
  EXPECT_FALSE(tls.prefer_server_cipher_suites);
  EXPECT_TRUE(config.http2);
  EXPECT_THAT(config.headers, ElementsAre(Pair("Strict-Transport-Security", "max-age=31536000"),
                                          Pair("X-Frame-Options", "deny")));
  EXPECT_THAT(config.users, ElementsAre(Pair("prometheus", kHash)));
}

TEST(WebConfig, TheDefaultsAreExporterToolkits) {
  const TlsSettings tls =
      ParseWebConfig("tls_server_config: {cert: C, key: K}", "/etc").value().tls.value();
  EXPECT_EQ(tls.certificate.text, "C");
  EXPECT_EQ(tls.key.text, "K");
  EXPECT_EQ(tls.client_auth, ClientAuth::kNone);
  EXPECT_EQ(tls.min_version, TlsVersion::k12);
  EXPECT_EQ(tls.max_version, TlsVersion::k13);
  EXPECT_TRUE(tls.prefer_server_cipher_suites);
  EXPECT_THAT(tls.cipher_suites, IsEmpty());
}

TEST(WebConfig, ClientAuthTypesHaveGosNames) {
  struct Case {
    const char* name;
    ClientAuth type;
  };
  for (const Case& one :
       {Case{"NoClientCert", ClientAuth::kNone}, Case{"RequestClientCert", ClientAuth::kRequest},
        Case{"RequireAnyClientCert", ClientAuth::kRequireAny},
        Case{"RequireClientCert", ClientAuth::kRequireAny},
        Case{"VerifyClientCertIfGiven", ClientAuth::kVerifyIfGiven},
        Case{"RequireAndVerifyClientCert", ClientAuth::kRequireAndVerify}}) {
    const std::string text =
        std::string("tls_server_config: {cert: C, key: K, client_auth_type: ") + one.name + "}";
    EXPECT_EQ(ParseWebConfig(text, "/").value().tls.value().client_auth, one.type) << one.name;
  }
}

TEST(WebConfig, OnlyCipherSuitesOfTls13AskForTls13) {
  const TlsSettings tls = ParseWebConfig(
                              "tls_server_config: {cert: C, key: K, cipher_suites: "
                              "[TLS_AES_256_GCM_SHA384]}",
                              "/")
                              .value()
                              .tls.value();
  EXPECT_EQ(tls.min_version, TlsVersion::k13);
  EXPECT_THAT(tls.cipher_suites, IsEmpty());
}

TEST(WebConfig, AnErrorNamesTheField) {
  struct Case {
    std::string text;
    const char* message;
  };
  const std::string pair = "tls_server_config: {cert: C, key: K, ";
  for (const Case& one : {
           Case{"- a", "the file: not a map"},
           Case{"[a]: b", "the file: a key is not a string"},
           Case{"tls_config: {}", "tls_config: unknown field"},
           Case{"rate_limit: {burst: 1}", "rate_limit: unknown field"},
           Case{"basic_auth_users:\nbasic_auth_users:", "basic_auth_users: given twice"},
           Case{"tls_server_config: 1", "tls_server_config: not a map"},
           Case{"tls_server_config: {certfile: x}", "tls_server_config.certfile: unknown field"},
           Case{"tls_server_config: {cert_file: [x]}", "tls_server_config.cert_file: not a string"},
           Case{"tls_server_config: {key_file: k}", "tls_server_config.cert_file: missing"},
           Case{"tls_server_config: {cert_file: c}", "tls_server_config.key_file: missing"},
           Case{pair + "min_version: TLS9}", "tls_server_config.min_version: \"TLS9\" is not"},
           Case{pair + "max_version: TLS11}", "tls_server_config.min_version: later than"},
           Case{pair + "client_auth_type: Any}", "tls_server_config.client_auth_type: \"Any\" is"},
           Case{pair + "client_ca_file: x}", "tls_server_config.client_ca_file: no effect"},
           Case{pair + "client_auth_type: RequestClientCert, client_allowed_sans: [a]}",
                "tls_server_config.client_allowed_sans: client_auth_type is not"},
           Case{pair + "cipher_suites: [RC4]}", "tls_server_config.cipher_suites: \"RC4\" is not"},
           Case{pair + "cipher_suites: RC4}", "tls_server_config.cipher_suites: not a list"},
           Case{pair + "curve_preferences: [P]}", "tls_server_config.curve_preferences: \"P\" is"},
           Case{pair + "prefer_server_cipher_suites: 7}",
                "tls_server_config.prefer_server_cipher_suites: not true or false"},
           Case{"http_server_config: {headers: {Server: x}}",
                "http_server_config.headers.Server: this header can't be set"},
           Case{"http_server_config: {headers: {X-Frame-Options: allow}}",
                "http_server_config.headers.X-Frame-Options: \"allow\" is not a value"},
           Case{"http_server_config: {headers: {X-XSS-Protection: \"a\\nb\"}}",
                "http_server_config.headers.X-XSS-Protection: a control character"},
           Case{"basic_auth_users: {a: secret}", "basic_auth_users.a: not a bcrypt hash"},
           Case{"basic_auth_users: {a: }", "basic_auth_users.a: not a bcrypt hash"},
           Case{"basic_auth_users: {a: [", "line 1"},
       }) {
    const Result<WebConfig> config = ParseWebConfig(one.text, "/etc");
    ASSERT_FALSE(config.has_value()) << one.text;
    EXPECT_EQ(config.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(config.error().message, HasSubstr(one.message)) << one.text;
  }
}

TEST(WebConfig, AHashIsBcrypts) {
  const std::string hash = kHash;
  struct Case {
    std::string hash;
    bool good;
  };
  for (const Case& one :
       {Case{hash, true}, Case{"$2b$" + hash.substr(4), true}, Case{"$2a$" + hash.substr(4), true},
        Case{"$2z$" + hash.substr(4), false}, Case{"$1$" + hash.substr(3), false},
        Case{hash + "x", false}, Case{hash.substr(1), false},
        Case{"$2y$03$" + hash.substr(7), false}, Case{"$2y$32$" + hash.substr(7), false},
        Case{"$2y$1x$" + hash.substr(7), false}, Case{hash.substr(0, 59) + "*", false}}) {
    EXPECT_EQ(ParseWebConfig("basic_auth_users: {a: \"" + one.hash + "\"}", "/").has_value(),
              one.good)
        << one.hash;
  }
}

}  // namespace
}  // namespace gantry::http
