// SPDX-License-Identifier: Apache-2.0
#include "kube/await_object.h"

#include <gmock/gmock.h>

#include "kube/testing/fake_server.h"

namespace gantry::kube {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr char kNone[] = R"({"metadata":{"resourceVersion":"7"},"items":[]})";
constexpr char kOne[] =
    R"({"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","resourceVersion":"6"}}]})";

bool IsGone(const Json* object) { return object == nullptr; }

// The server's one list, then one event in the stream that follows, which stays open.
Status Await(const std::string& list, const std::string& event,
             milliseconds at_most = milliseconds(10'000),
             const std::function<bool(const Json*)>& awaited = IsGone) {
  FakeServer server([&](const FakeServer::Request& request) -> FakeServer::Reply {
    EXPECT_THAT(request.target, HasSubstr("fieldSelector=metadata.name%3Da"));
    if (request.target.find("watch=true") == std::string::npos) {
      return {.body = list};
    }
    return {.body = event, .silent = true};
  });
  const auto client = Client::Create(server.config()).value();
  return AwaitObject(*client, kinds::kNode, "a", at_most, awaited);
}

TEST(AwaitObject, WhatIsNotThereIsGoneAtOnce) { EXPECT_TRUE(Await(kNone, "").has_value()); }

TEST(AwaitObject, WhatIsDeletedIsGone) {
  EXPECT_TRUE(Await(kOne,
                    R"({"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"8"}}})"
                    "\n")
                  .has_value());
}

TEST(AwaitObject, AChangeIsSeen) {
  const auto is_labelled = [](const Json* object) {
    return object != nullptr && At(*object, "metadata.labels") != nullptr;
  };
  EXPECT_TRUE(
      Await(
          kOne,
          R"({"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"8","labels":{}}}})"
          "\n",
          milliseconds(10'000), is_labelled)
          .has_value());
}

TEST(AwaitObject, WhatStaysIsATimeout) {
  const Status seen = Await(kOne, "", milliseconds(50));
  ASSERT_FALSE(seen.has_value());
  EXPECT_EQ(seen.error().kind, ErrorKind::kTimeout);
}

TEST(AwaitObject, WhatMayNotBeReadEndsIt) {
  FakeServer server([](const FakeServer::Request&) -> FakeServer::Reply {
    return {.status = 403, .body = "no"};
  });
  const auto client = Client::Create(server.config()).value();
  const Status seen = AwaitObject(*client, kinds::kNode, "a", milliseconds(10'000), IsGone);
  ASSERT_FALSE(seen.has_value());
  EXPECT_EQ(seen.error().kind, ErrorKind::kDenied);
}

}  // namespace
}  // namespace gantry::kube
