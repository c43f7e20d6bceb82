// SPDX-License-Identifier: Apache-2.0
#include "kube/watch.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "kube/testing/eventually.h"
#include "kube/testing/fake_server.h"

namespace gantry::kube {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

class NoSink : public WatchSink {
 public:
  void Upsert(const Json& /*object*/) override {}
  void Remove(const Key& /*key*/) override {}
  void Synced() override {}
};

TEST(Watch, ASilentStreamIsOpenedAgainWhereItWas) {
  std::atomic<bool> elsewhere = false;
  FakeServer server([&](const FakeServer::Request& request) -> FakeServer::Reply {
    if (request.target.find("watch=true") == std::string::npos) {
      return {.body = R"({"metadata":{"resourceVersion":"7"},"items":[]})"};
    }
    elsewhere = elsewhere || request.target.find("resourceVersion=7&") == std::string::npos;
    return {.body = "", .silent = true};
  });
  const auto client = Client::Create(server.config()).value();
  NoSink sink;
  std::atomic<int> failures = 0;
  WatchOptions options;
  options.idle_limit = std::chrono::seconds(1);
  options.on_failure = [&](const Error&) { ++failures; };
  Watch watch(*client, kinds::kNode, {}, sink, options);
  watch.Start();
  EXPECT_TRUE(Eventually([&] { return watch.streams() == 3; }));
  watch.Stop();
  EXPECT_EQ(watch.lists(), 1);
  EXPECT_FALSE(elsewhere);
  EXPECT_EQ(failures, 0);
}

// What a watch writes to the log while the server answers so, ten times at least.
std::string LogOf(int status, bool absent_kind_is_empty) {
  FakeServer server([status](const FakeServer::Request&) -> FakeServer::Reply {
    return {.status = status, .body = "so it is"};
  });
  const auto client = Client::Create(server.config()).value();
  NoSink sink;
  testing::internal::CaptureStderr();
  {
    WatchOptions options;
    options.backoff = {.base = milliseconds(1), .limit = milliseconds(2)};
    options.absent_kind_is_empty = absent_kind_is_empty;
    Watch watch(*client, kinds::kNode, {}, sink, options);
    watch.Start();
    EXPECT_TRUE(Eventually([&] { return server.requests() >= 10; }));
  }
  return testing::internal::GetCapturedStderr();
}

TEST(Watch, WhatGoesOnFailingIsLoggedAndNotEachTime) {
  const std::string denied = LogOf(403, false);
  EXPECT_THAT(denied, HasSubstr(": so it is (denied, failure 1 in a row)"));
  EXPECT_THAT(denied, HasSubstr("failure 8 in a row"));
  EXPECT_THAT(denied, Not(HasSubstr("failure 3 in a row")));
  const std::string broken = LogOf(500, false);
  EXPECT_THAT(broken, HasSubstr("failure 2 in a row"));
  EXPECT_THAT(broken, Not(HasSubstr("failure 1 in a row")));
}

TEST(Watch, WhatIsExpectedIsNotLogged) {
  EXPECT_EQ(LogOf(404, true), "");
  EXPECT_EQ(LogOf(410, false), "");
}

}  // namespace
}  // namespace gantry::kube
