// SPDX-License-Identifier: Apache-2.0
#include "kube/lease.h"

#include <gmock/gmock.h>

#include "kube/testing/eventually.h"
#include "kube/testing/fake_server.h"

namespace gantry::kube {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

LeaseOptions Quick() {
  return {.lease = {"default", "l"},
          .identity = "us",
          .lease_duration = milliseconds(400),
          .renew_deadline = milliseconds(200),
          .retry_period = milliseconds(20)};
}

TEST(Lease, OnceLostItIsOver) {
  std::atomic<bool> out_of_order = false;
  Json stored;
  int version = 0;
  FakeServer server([&](const FakeServer::Request& request) -> FakeServer::Reply {
    if (out_of_order) {
      return {.status = 500};
    }
    if (request.method == "GET") {
      return stored.is_null() ? FakeServer::Reply{.status = 404}
                              : FakeServer::Reply{.body = stored.dump()};
    }
    stored = ParseJson(request.body).value();
    stored["metadata"]["resourceVersion"] = std::to_string(++version);
    return {.body = stored.dump()};
  });
  const auto client = Client::Create(server.config()).value();
  std::atomic<int> acquired = 0;
  std::atomic<int> lost = 0;
  Lease lease(*client, Quick(),
              {.acquired = [&] { ++acquired; }, .lost = [&](const Error&) { ++lost; }});
  lease.Start();
  ASSERT_TRUE(Eventually([&] { return acquired == 1; }));
  out_of_order = true;
  ASSERT_TRUE(Eventually([&] { return lost == 1; }));
  EXPECT_FALSE(lease.held());
  // It still names us, and could be had again.
  out_of_order = false;
  const int requests = server.requests();
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(server.requests(), requests);
  EXPECT_EQ(acquired, 1);
  EXPECT_EQ(lost, 1);
}

TEST(Lease, WhyItCannotBeHadIsLoggedAndNotEachTime) {
  FakeServer server([](const FakeServer::Request&) -> FakeServer::Reply {
    return {.status = 403, .body = "not for you"};
  });
  const auto client = Client::Create(server.config()).value();
  testing::internal::CaptureStderr();
  {
    // A slow answer would be another reason.
    LeaseOptions options = Quick();
    options.lease_duration = std::chrono::minutes(2);
    options.renew_deadline = std::chrono::minutes(1);
    Lease lease(*client, options, {.acquired = [] {}, .lost = [](const Error&) {}});
    lease.Start();
    EXPECT_TRUE(Eventually([&] { return server.requests() > 8; }));
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("get lease default/l: not for you"));
  EXPECT_THAT(log, HasSubstr("failure 8 in a row"));
  EXPECT_THAT(log, Not(HasSubstr("failure 7 in a row")));
}

}  // namespace
}  // namespace gantry::kube
