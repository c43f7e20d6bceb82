// SPDX-License-Identifier: Apache-2.0
#include "kube/status.h"

#include <gtest/gtest.h>

namespace gantry::kube {
namespace {

TEST(Status, EveryHttpStatusHasTheKindThatTheCallerActsOn) {
  EXPECT_EQ(KindOfHttpStatus(400), ErrorKind::kInvalid);
  EXPECT_EQ(KindOfHttpStatus(401), ErrorKind::kDenied);
  EXPECT_EQ(KindOfHttpStatus(403), ErrorKind::kDenied);
  EXPECT_EQ(KindOfHttpStatus(404), ErrorKind::kNotFound);
  EXPECT_EQ(KindOfHttpStatus(409), ErrorKind::kConflict);
  EXPECT_EQ(KindOfHttpStatus(410), ErrorKind::kConflict);
  EXPECT_EQ(KindOfHttpStatus(422), ErrorKind::kInvalid);
  EXPECT_EQ(KindOfHttpStatus(429), ErrorKind::kUnavailable);
  EXPECT_EQ(KindOfHttpStatus(500), ErrorKind::kUnavailable);
  EXPECT_EQ(KindOfHttpStatus(503), ErrorKind::kUnavailable);
  EXPECT_EQ(KindOfHttpStatus(504), ErrorKind::kTimeout);
  EXPECT_EQ(KindOfHttpStatus(302), ErrorKind::kInternal);
}

TEST(Status, TheServersMessageIsKeptAndForeignTextIsCut) {
  EXPECT_EQ(ErrorOfAnswer(404, R"({"kind":"Status","message":"nodes \"x\" not found"})").message,
            "nodes \"x\" not found");
  EXPECT_EQ(ErrorOfAnswer(410, R"({"kind":"Status","reason":"Expired"})").message, "Expired");
  EXPECT_EQ(ErrorOfAnswer(502, std::string(5000, 'x')).message.size(), 200U);
  // At a character's boundary.
  EXPECT_EQ(ErrorOfAnswer(502, std::string(199, 'x') + "\u00e4").message, std::string(199, 'x'));
  EXPECT_EQ(ErrorOfAnswer(502, "").message, "http status 502");
}

TEST(Status, RetryAfterIsSeconds) {
  EXPECT_EQ(ParseRetryAfter(" 3 "), std::chrono::seconds(3));
  EXPECT_FALSE(ParseRetryAfter("Wed, 21 Oct 2026 07:28:00 GMT").has_value());
  EXPECT_FALSE(ParseRetryAfter("-1").has_value());
  EXPECT_EQ(ParseRetryAfter("0"), std::chrono::seconds(1));
  // More than nanoseconds can count.
  EXPECT_EQ(ParseRetryAfter("9223372036854775807"), std::chrono::hours(24));
}

}  // namespace
}  // namespace gantry::kube
