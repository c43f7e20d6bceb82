// SPDX-License-Identifier: Apache-2.0
#include "kube/backoff.h"

#include <gtest/gtest.h>

namespace gantry::kube {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesUpToTheLimitAndDrawsFromTheUpperHalf) {
  const Backoff backoff{.base = milliseconds(100), .limit = milliseconds(1000)};
  EXPECT_EQ(backoff.Delay(1, 0), milliseconds(100));
  EXPECT_EQ(backoff.Delay(3, 0), milliseconds(400));
  EXPECT_EQ(backoff.Delay(5, 0), milliseconds(1000));
  EXPECT_EQ(backoff.Delay(1'000'000, 0), milliseconds(1000));
  for (uint64_t random = 0; random < 5000; random += 7) {
    EXPECT_GE(backoff.Delay(3, random), milliseconds(200));
    EXPECT_LE(backoff.Delay(3, random), milliseconds(400));
  }
  EXPECT_NE(backoff.Delay(3, 1), backoff.Delay(3, 100));
}

TEST(RetryDelay, FollowsTheKind) {
  const Backoff backoff{.base = milliseconds(100), .limit = milliseconds(60'000)};
  EXPECT_FALSE(RetryDelay(ErrorKind::kInvalid, 1, backoff, 0).has_value());
  EXPECT_FALSE(RetryDelay(ErrorKind::kUnsupported, 1, backoff, 0).has_value());
  EXPECT_EQ(RetryDelay(ErrorKind::kConflict, 20, backoff, 0), milliseconds(1000));
  EXPECT_EQ(RetryDelay(ErrorKind::kDenied, 1, backoff, 0), milliseconds(30'000));
  EXPECT_EQ(RetryDelay(ErrorKind::kUnavailable, 2, backoff, 0), milliseconds(200));
}

}  // namespace
}  // namespace gantry::kube
