// SPDX-License-Identifier: Apache-2.0
#include "kube/kubeconfig.h"

#include <gmock/gmock.h>

#include <map>
#include <vector>

#include "base/text.h"

namespace gantry::kube {
namespace {

using testing::HasSubstr;

Result<std::string> Read(const std::string& path) {
  if (path.ends_with("missing")) {
    return Fail(ErrorKind::kNotFound, format("read {}: no such file", path));
  }
  return "<" + path + ">";
}

Result<Config> Parse(const std::string& text, const RunProgram& run = {}) {
  return ParseKubeconfig({{.path = "/dir/config", .text = text}}, "", Read, run);
}

std::string WithUser(std::string_view user) {
  return format(R"(
apiVersion: v1
kind: Config
current-context: c
contexts:
- name: other
  context: {{cluster: none, user: none}}
- name: c
  context: {{cluster: k, user: u, namespace: n}}
clusters:
- name: k
  cluster:
    server: https://[fd00::1]:6443/prefix/
    certificate-authority-data: Y2E=
    certificate-authority: ignored
    tls-server-name: kubernetes
users:
- name: u
  user: {}
)",
                user);
}

TEST(Kubeconfig, TheCurrentContextIsTaken) {
  const Config config =
      Parse(WithUser("{client-certificate: pki/a.crt, client-key: /b.key, tokenFile: t}")).value();
  EXPECT_EQ(config.host, "fd00::1");
  EXPECT_EQ(config.port, 6443);
  EXPECT_EQ(config.path_prefix, "/prefix");
  EXPECT_EQ(config.ServerUrl(), "https://[fd00::1]:6443/prefix");
  EXPECT_EQ(config.ca_pem, "ca");
  EXPECT_EQ(config.server_name, "kubernetes");
  EXPECT_EQ(config.client_certificate_pem, "</dir/pki/a.crt>");
  EXPECT_EQ(config.client_key_pem, "</b.key>");
  EXPECT_EQ(config.token_file, "/dir/t");
  EXPECT_EQ(config.ns, "n");
  EXPECT_FALSE(config.insecure_skip_verify);
}

TEST(Kubeconfig, AnInlineTokenStandsInForAFile) {
  const Config config = Parse(WithUser("{token: abc, tokenFile: t}")).value();
  EXPECT_EQ(config.token, "abc");
  EXPECT_EQ(config.token_file, "/dir/t");
}

TEST(Kubeconfig, SeveralArePutTogetherTheFirstCounts) {
  const std::vector<KubeconfigFile> files = {{.path = "/a/config", .text = ""},
                                             {.path = "/b/config", .text = R"(
current-context: two
contexts:
- {name: two, context: {cluster: k, user: u}}
users:
- {name: u, user: {tokenFile: t}}
)"},
                                             {.path = "/c/config", .text = R"(
current-context: one
contexts:
- {name: one, context: {cluster: k, user: other}}
- {name: two, context: {cluster: none, user: none}}
clusters:
- {name: k, cluster: {server: "https://k", certificate-authority: ca}}
users:
- {name: u, user: {token: wrong}}
- {name: other, user: {token: other}}
)"}};
  const Config current = ParseKubeconfig(files, "", Read, {}).value();
  EXPECT_EQ(current.host, "k");
  EXPECT_EQ(current.token_file, "/b/t");
  EXPECT_EQ(current.token, "");
  EXPECT_EQ(current.ca_pem, "</c/ca>");
  EXPECT_EQ(ParseKubeconfig(files, "one", Read, {}).value().token, "other");
  EXPECT_THAT(ParseKubeconfig(files, "three", Read, {}).error().message,
              HasSubstr("contexts: none is named \"three\""));
}

constexpr char kExec[] =
    "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, args: [a, 'b c'], "
    "env: [{name: PROFILE, value: p}], provideClusterInfo: true, installHint: get it}}";

TEST(Kubeconfig, AProgramIsAskedForCredentials) {
  std::vector<CredentialProgram> asked;
  const auto run = [&asked](const CredentialProgram& program) -> Result<std::string> {
    asked.push_back(program);
    return format(R"({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                      "status": {{"token": "t{}"}}}})",
                  asked.size());
  };
  const Config config = Parse(WithUser(kExec), run).value();
  EXPECT_EQ(config.token, "t1");
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_THAT(asked.front().words, testing::ElementsAre("/dir/./login", "a", "b c"));
  EXPECT_THAT(
      asked.front().environment,
      testing::ElementsAre("PROFILE=p",
                           testing::AllOf(testing::StartsWith("KUBERNETES_EXEC_INFO={"),
                                          HasSubstr(R"("certificate-authority-data":"Y2E=")"))));
  EXPECT_EQ(config.renew_token(), "t2");
}

TEST(Kubeconfig, WhyAProgramGivesNoneIsSaid) {
  const auto missing = [](const CredentialProgram&) -> Result<std::string> {
    return Fail(ErrorKind::kNotFound, "find the program login");
  };
  EXPECT_EQ(Parse(WithUser(kExec), missing).error().message,
            "users[].user.exec of \"u\": find the program login; get it");
  const auto noise = [](const CredentialProgram&) { return Result<std::string>("hello"); };
  EXPECT_THAT(Parse(WithUser(kExec), noise).error().message, HasSubstr("no ExecCredential"));
  const Error asks =
      Parse(WithUser("{exec: {command: x, interactiveMode: Always}}"), noise).error();
  EXPECT_EQ(asks.kind, ErrorKind::kUnsupported);
}

TEST(Kubeconfig, JsonIsYaml) {
  const Config config = Parse(R"({"current-context":"c","contexts":[{"name":"c","context":{
      "cluster":"k"}}],"clusters":[{"name":"k","cluster":{"server":"http://localhost:8001",
      "insecure-skip-tls-verify":true}}]})")
                            .value();
  EXPECT_FALSE(config.tls);
  EXPECT_TRUE(config.insecure_skip_verify);
  EXPECT_EQ(config.ns, "default");
}

TEST(Kubeconfig, WhatCannotBeUsedIsRefusedByName) {
  for (const char* user : {"{exec: {command: aws}}", "{auth-provider: {name: gcp}}"}) {
    const Error error = Parse(WithUser(user)).error();
    EXPECT_EQ(error.kind, ErrorKind::kUnsupported);
    EXPECT_THAT(error.message, HasSubstr("users[].user."));
  }
}

TEST(Kubeconfig, AWrongFieldIsNamed) {
  const std::map<std::string, std::string> wrong = {
      {"current-context: x", "contexts: none is named \"x\""},
      {"{}", "current-context"},
      {"[]", "not a map"},
      {"a: [", "yaml"},
      {WithUser("{client-certificate: a}"), "go together"},
      {WithUser("{client-certificate: missing, client-key: b}"), "client-certificate: read"},
      {WithUser("{client-key-data: '***'}"), "client-key-data"},
  };
  for (const auto& [text, reason] : wrong) {
    const Result<Config> config = Parse(text);
    ASSERT_FALSE(config.has_value()) << text;
    EXPECT_EQ(config.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(config.error().message, HasSubstr(reason));
  }
}

TEST(InCluster, TheServiceAccountIsTaken) {
  const auto read = [](const std::string& path) -> Result<std::string> {
    if (path == "/sa/namespace") {
      return "gpu-operator\n";
    }
    return path == "/sa/ca.crt" ? Result<std::string>("ca") : FailErrno("read " + path, 2);
  };
  const Config config = InClusterConfig("fd00::1", "443", "/sa", read).value();
  EXPECT_EQ(config.ServerUrl(), "https://[fd00::1]:443");
  EXPECT_EQ(config.ca_pem, "ca");
  EXPECT_EQ(config.token_file, "/sa/token");
  EXPECT_EQ(config.ns, "gpu-operator");
  EXPECT_EQ(InClusterConfig("h", "0", "/sa", read).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(InClusterConfig("h", "1", "/none", read).error().kind, ErrorKind::kNotFound);
}

TEST(ServerUrl, PortsAndPrefixes) {
  Config config;
  EXPECT_TRUE(ParseServerUrl("https://host", config).has_value());
  EXPECT_EQ(config.port, 443);
  EXPECT_TRUE(ParseServerUrl("http://host/a/b", config).has_value());
  EXPECT_EQ(config.port, 80);
  EXPECT_EQ(config.path_prefix, "/a/b");
  EXPECT_TRUE(ParseServerUrl("https://[fe80::1%eth0]:6443", config).has_value());
  EXPECT_EQ(config.ServerUrl(), "https://[fe80::1%eth0]:6443");
  for (const char* wrong :
       {"", "host:6443", "ftp://x", "https://", "https://x:0", "https://x:70000", "https://[::1",
        "https://[]", "https://[host]", "https://[[[::1]"}) {
    EXPECT_FALSE(ParseServerUrl(wrong, config).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace gantry::kube
