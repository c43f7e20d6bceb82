// SPDX-License-Identifier: Apache-2.0
#include "kube/exec_credential.h"

#include <gmock/gmock.h>

#include "base/json.h"
#include "base/text.h"

namespace gantry::kube {
namespace {

constexpr char kV1[] = "client.authentication.k8s.io/v1";
constexpr char kBeta[] = "client.authentication.k8s.io/v1beta1";

std::string Printed(std::string_view version, std::string_view status) {
  return format(R"({{"apiVersion": "{}", "kind": "ExecCredential", "status": {}}})", version,
                status);
}

TEST(ExecInfo, TellsOfTheClusterOnlyIfAsked) {
  EXPECT_EQ(
      ParseJson(ExecInfo(kV1, nullptr)).value(),
      Json({{"apiVersion", kV1}, {"kind", "ExecCredential"}, {"spec", {{"interactive", false}}}}));
  Config config;
  config.host = "h";
  config.server_name = "name";
  config.insecure_skip_verify = true;
  config.ca_pem = "ca";
  EXPECT_EQ(ParseJson(ExecInfo(kV1, &config)).value()["spec"]["cluster"],
            Json({{"server", "https://h:443"},
                  {"tls-server-name", "name"},
                  {"insecure-skip-tls-verify", true},
                  {"certificate-authority-data", "Y2E="}}));
}

TEST(ExecCredential, ATokenOrACertificate) {
  EXPECT_EQ(ReadExecCredential(Printed(kBeta, R"({"token": "t"})"), kBeta).value().token, "t");
  const ExecCredential pair =
      ReadExecCredential(Printed(kV1, R"({"clientCertificateData": "c", "clientKeyData": "k"})"),
                         kV1)
          .value();
  EXPECT_EQ(pair.certificate_pem, "c");
  EXPECT_EQ(pair.key_pem, "k");
}

TEST(ExecCredential, WhatIsNoneIsRefused) {
  const std::string token = R"({"token": "t"})";
  for (const std::string& text :
       {std::string("no JSON"), Printed(kBeta, token), Printed(kV1, "{}"), Printed(kV1, "null"),
        Printed(kV1, R"({"token": "t", "clientKeyData": "k"})")}) {
    const auto read = ReadExecCredential(text, kV1);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
  }
  EXPECT_EQ(ReadExecCredential(Printed("client.authentication.k8s.io/v1alpha1", token),
                               "client.authentication.k8s.io/v1alpha1")
                .error()
                .kind,
            ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace gantry::kube
