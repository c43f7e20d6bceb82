// SPDX-License-Identifier: Apache-2.0
// The server with a web configuration, met by curl and by Python's ssl.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/testing/shell.h"
#include "base/testing/temp_folder.h"
#include "base/text.h"
#include "http/server.h"

namespace gantry::http {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Standard error too.
Ran ShellWithErrors(const std::string& command) { return Shell(command + " 2>&1"); }

class WebServer : public testing::Test {
 protected:
  // An authority, and what it signs.
  void MakeAuthority(const std::string& name) {
    const Ran made =
        ShellWithErrors(format("cd {0} && openssl req -x509 -newkey ec -pkeyopt "
                               "ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={1} -keyout "
                               "{1}.key -out {1}.crt",
                               folder_, name));
    CHECK(made.code == 0);
  }
  void Sign(const std::string& authority, const std::string& name, const std::string& san) {
    const Ran made = ShellWithErrors(format(
        "cd {0} && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={2} "
        "-keyout {2}.key -out {2}.csr && echo subjectAltName={3} > {2}.ext && "
        "openssl x509 -req -in {2}.csr -CA {1}.crt -CAkey {1}.key -days 2 -extfile {2}.ext -out "
        "{2}.crt",
        folder_, authority, name, san));
    CHECK(made.code == 0);
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  void Start(const std::string& web_config) {
    Write("web.yml", web_config);
    auto server =
        Server::Start("127.0.0.1:0",
                      [](std::string_view path) -> Response {
                        return {.body = path == "/metrics" ? std::string(100'000, 'm') : "ok\n"};
                      },
                      {.web_config_file = folder_ + "/web.yml"});
    ASSERT_TRUE(server.has_value()) << server.error().message;
    server_ = std::move(*server);
  }
  // curl, which knows the authority "ca"; {} in the arguments is the server's address.
  Ran Curl(std::string arguments) {
    while (arguments.contains("{}")) {
      arguments.replace(arguments.find("{}"), 2, format("localhost:{}", server_->port()));
    }
    return ShellWithErrors(format(
        "cd {} && curl -sS --max-time 20 --noproxy '*' --cacert ca.crt {}", folder_, arguments));
  }

  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
  std::unique_ptr<Server> server_;
};

constexpr const char* kPair =
    "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n";
// "secret".
constexpr const char* kPrometheus =
    "basic_auth_users:\n  prometheus: "
    "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n";

TEST_F(WebServer, SpeaksTlsAndTellsAPlainClientSo) {
  MakeAuthority("ca");
  Sign("ca", "server", "DNS:localhost");
  Start(kPair);
  EXPECT_EQ(Curl("https://{}/healthz").output, "ok\n");
  EXPECT_EQ(Curl("https://{}/metrics").output.size(), 100'000U);
  EXPECT_THAT(Curl("http://{}/healthz").output, HasSubstr("an HTTP request to an HTTPS server"));
  EXPECT_NE(Curl("--tls-max 1.1 https://{}/healthz").code, 0);
  EXPECT_EQ(Curl("--tls-max 1.2 https://{}/healthz").code, 0);
}

TEST_F(WebServer, HasTheVersionsCiphersAndCurvesThatAreConfigured) {
  MakeAuthority("ca");
  Sign("ca", "server", "DNS:localhost");
  Start(std::string(kPair) +
        "  min_version: TLS10\n  max_version: TLS12\n  curve_preferences: [CurveP384]\n"
        "  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA]\n");
  EXPECT_THAT(Curl("-v https://{}/healthz").output,
              HasSubstr("TLSv1.2 / ECDHE-ECDSA-AES256-GCM-SHA384"));
  EXPECT_THAT(
      Curl("-v --tls-max 1.0 --ciphers DEFAULT@SECLEVEL=0 --tlsv1.0 https://{}/healthz").output,
      HasSubstr("SSL connection using TLSv1 /"));
  EXPECT_NE(Curl("--tlsv1.3 https://{}/healthz").code, 0);
  EXPECT_NE(Curl("--curves X25519 --tls-max 1.2 https://{}/healthz").code, 0);
}

TEST_F(WebServer, AClientShowsACertificateThatIsTrusted) {
  MakeAuthority("ca");
  MakeAuthority("other");
  Sign("ca", "server", "DNS:localhost");
  Sign("ca", "client", "DNS:prometheus");
  Sign("ca", "stranger", "DNS:stranger");
  Sign("other", "foreign", "DNS:prometheus");
  Start(std::string(kPair) +
        "  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n"
        "  client_allowed_sans: [prometheus]\n");
  EXPECT_EQ(Curl("--cert client.crt --key client.key https://{}/healthz").output, "ok\n");
  EXPECT_NE(Curl("https://{}/healthz").code, 0);
  EXPECT_NE(Curl("--cert stranger.crt --key stranger.key https://{}/healthz").code, 0);
  EXPECT_NE(Curl("--cert foreign.crt --key foreign.key https://{}/healthz").code, 0);
  // Each policy counts from the next connection on.
  Write("web.yml", std::string(kPair) +
                       "  client_ca_file: ca.crt\n  client_auth_type: VerifyClientCertIfGiven\n");
  EXPECT_EQ(Curl("https://{}/healthz").output, "ok\n");
  EXPECT_NE(Curl("--cert foreign.crt --key foreign.key https://{}/healthz").code, 0);
  Write("web.yml", std::string(kPair) + "  client_auth_type: RequireAnyClientCert\n");
  EXPECT_NE(Curl("https://{}/healthz").code, 0);
  EXPECT_EQ(Curl("--cert foreign.crt --key foreign.key https://{}/healthz").output, "ok\n");
  Write("web.yml", std::string(kPair) + "  client_auth_type: RequestClientCert\n");
  EXPECT_EQ(Curl("https://{}/healthz").output, "ok\n");
  EXPECT_EQ(Curl("--cert foreign.crt --key foreign.key https://{}/healthz").output, "ok\n");
}

TEST_F(WebServer, ARenewedCertificateCountsAndABrokenOneDoesNot) {
  MakeAuthority("ca");
  Sign("ca", "server", "DNS:localhost");
  Start(kPair);
  const auto shown = [this] {
    return ShellWithErrors(
               format("cd {} && openssl s_client -connect localhost:{} </dev/null 2>/dev/null | "
                      "openssl x509 -noout -fingerprint",
                      folder_, server_->port()))
        .output;
  };
  const std::string first = shown();
  ASSERT_THAT(first, HasSubstr("Fingerprint"));
  Sign("ca", "server", "DNS:localhost");
  const std::string second = shown();
  EXPECT_THAT(second, AllOf(HasSubstr("Fingerprint"), Not(first)));
  testing::internal::CaptureStderr();
  Write("server.crt", "no certificate");
  EXPECT_EQ(shown(), second);
  EXPECT_EQ(shown(), second);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("tls_server_config.cert_file: no PEM certificate in it; the previous "
                             "configuration stays in use"));
  EXPECT_EQ(log.find("stays in use"), log.rfind("stays in use")) << log;
  Sign("ca", "server", "DNS:localhost");
  EXPECT_THAT(shown(), AllOf(HasSubstr("Fingerprint"), Not(second)));
}

TEST_F(WebServer, AsksForAPasswordAndSetsHeaders) {
  Start(std::string(kPrometheus) + "http_server_config:\n  headers:\n    X-Frame-Options: deny\n");
  EXPECT_THAT(Curl("-i http://{}/healthz").output,
              AllOf(HasSubstr("401 Unauthorized"), HasSubstr("WWW-Authenticate: Basic"),
                    HasSubstr("X-Frame-Options: deny"), Not(HasSubstr("ok\n"))));
  EXPECT_THAT(Curl("-i -u prometheus:wrong http://{}/healthz").output, HasSubstr("401"));
  EXPECT_THAT(Curl("-i -u nobody:secret http://{}/healthz").output, HasSubstr("401"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Curl("-i -u prometheus:secret http://{}/healthz").output,
                AllOf(HasSubstr("200 OK"), HasSubstr("X-Frame-Options: deny"), HasSubstr("ok\n")));
  }
  Write("web.yml",
        "basic_auth_users: {other: $2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW}");
  EXPECT_THAT(Curl("-i -u prometheus:secret http://{}/healthz").output, HasSubstr("401"));
  EXPECT_THAT(Curl("-u other:secret http://{}/healthz").output, HasSubstr("ok\n"));
}

TEST_F(WebServer, KeepsAConnectionAndCompresses) {
  MakeAuthority("ca");
  Sign("ca", "server", "DNS:localhost");
  Start(std::string(kPair) + kPrometheus);
  EXPECT_THAT(
      Curl("-v -u prometheus:secret https://{}/healthz https://{}/metrics -o /dev/null").output,
      HasSubstr("Re-using existing connection"));
  EXPECT_THAT(Curl("-u prometheus:secret --compressed -o /dev/null -w '%{size_download}' "
                   "https://{}/metrics")
                  .output,
              testing::MatchesRegex("[0-9]?[0-9]?[0-9]"));
  EXPECT_EQ(Curl("-u prometheus:secret --compressed https://{}/metrics").output.size(), 100'000U);
  EXPECT_THAT(Curl("-I -u prometheus:secret https://{}/metrics").output,
              HasSubstr("Content-Length: 100000"));
  Write("client.py", R"(
import http.client, ssl, sys
context = ssl.create_default_context(cafile="ca.crt")
connection = http.client.HTTPSConnection("localhost", int(sys.argv[1]), context=context)
ports = set()
for _ in range(3):
    connection.request("GET", "/healthz", headers={"Authorization": "Basic cHJvbWV0aGV1czpzZWNyZXQ="})
    response = connection.getresponse()
    assert (response.status, response.read()) == (200, b"ok\n")
    ports.add(connection.sock.getsockname()[1])
print(len(ports), connection.sock.version())
)");
  EXPECT_EQ(
      ShellWithErrors(format("cd {} && python3 client.py {}", folder_, server_->port())).output,
      "1 TLSv1.3\n");
}

TEST_F(WebServer, AFileThatCannotBeUsedAtTheStartIsAnError) {
  const auto start = [this] {
    return Server::Start("127.0.0.1:0", [](std::string_view) { return Response{}; },
                         {.web_config_file = folder_ + "/web.yml"})
        .error();
  };
  EXPECT_THAT(start().message, HasSubstr("web.yml: "));
  Write("web.yml", kPair);
  EXPECT_EQ(start().kind, ErrorKind::kInvalid);
  EXPECT_THAT(start().message,
              AllOf(HasSubstr("tls_server_config.cert_file: "), HasSubstr("server.crt")));
  MakeAuthority("ca");
  Sign("ca", "server", "DNS:localhost");
  std::filesystem::copy_file(folder_ + "/ca.key", folder_ + "/server.key",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(start().message, HasSubstr("tls_server_config.key_file: key values mismatch"));
}

}  // namespace
}  // namespace gantry::http
