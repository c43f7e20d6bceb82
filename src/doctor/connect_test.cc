// SPDX-License-Identifier: Apache-2.0
#include "doctor/connect.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"
#include "base/text.h"

namespace gantry::doctor {
namespace {

// A kubeconfig whose user's credentials a shell script prints.
class ConnectTest : public testing::Test {
 protected:
  [[nodiscard]] ClusterFlags Flags(const std::string& script) const {
    std::ofstream(folder_ / "login") << script;
    std::ofstream(folder_ / "config") << R"(
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://k"}}]
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: sh
      args: [)" << (folder_ / "login").string()
                                      << R"(]
      env: [{name: TOKEN, value: secret}]
)";
    return {.kubeconfig = (folder_ / "config").string(), .context = "c"};
  }

  const TempFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

TEST_F(ConnectTest, AProgramGivesTheCredentials) {
  const auto client =
      Connect(Flags(R"(echo "{\"kind\": \"ExecCredential\", \"status\": {\"token\": \"$TOKEN\"},
                       \"apiVersion\": \"client.authentication.k8s.io/v1\"}")"),
              "test");
  ASSERT_TRUE(client.has_value()) << client.error().message;
  EXPECT_EQ((*client)->config().token, "secret");
}

TEST_F(ConnectTest, WhatAProgramSaysIsShown) {
  const auto client = Connect(Flags("echo 'log in first' >&2; exit 3"), "test");
  ASSERT_FALSE(client.has_value());
  EXPECT_THAT(client.error().message, testing::HasSubstr("run sh: exit status 3: log in first"));
}

}  // namespace
}  // namespace gantry::doctor
