// SPDX-License-Identifier: Apache-2.0
#include "kube/transport.h"

#include <gmock/gmock.h>

#include "kube/testing/fake_server.h"

namespace gantry::kube {
namespace {

TEST(Transport, RetryAfterNothingIsStillAPause) {
  FakeServer* asked = nullptr;
  FakeServer server([&asked](const FakeServer::Request&) -> FakeServer::Reply {
    return asked->requests() > 1 ? FakeServer::Reply{}
                                 : FakeServer::Reply{.status = 429, .header = "Retry-After: 0\r\n"};
  });
  asked = &server;
  const auto client = Client::Create(server.config()).value();
  const auto started = std::chrono::steady_clock::now();
  EXPECT_TRUE(client->GetPath("/version").has_value());
  EXPECT_EQ(server.requests(), 2);
  EXPECT_GE(std::chrono::steady_clock::now() - started, std::chrono::seconds(1));
}

}  // namespace
}  // namespace gantry::kube
