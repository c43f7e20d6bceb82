// SPDX-License-Identifier: Apache-2.0
#include "host/child_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/clock.h"

namespace gantry::host {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(ChildCall, BringsTextsAndErrorsBack) {
  ChildCall child("ask");
  const std::string long_text(300'000, 'x');
  EXPECT_EQ(child.Run([&] { return long_text; }, milliseconds(20000), -1).value(), long_text);
  EXPECT_EQ(child.Run([] { return std::string(); }, milliseconds(20000), -1).value(), "");
  const auto failed =
      child.Run([]() -> Result<std::string> { return Fail(ErrorKind::kConflict, "write it: no"); },
                milliseconds(20000), -1);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(failed.error().message, "write it: no");
}

TEST(ChildCall, WhatTheChildChangesIsItsOwn) {
  int value = 1;
  ChildCall child("ask");
  EXPECT_TRUE(child
                  .Run(
                      [&] {
                        value = 2;
                        return std::string();
                      },
                      milliseconds(20000), -1)
                  .has_value());
  EXPECT_EQ(value, 1);
}

TEST(ChildCall, OneThatDiesIsAnError) {
  ChildCall child("ask");
  const auto died = child.Run([]() -> Result<std::string> { _exit(3); }, milliseconds(20000), -1);
  ASSERT_FALSE(died.has_value());
  EXPECT_EQ(died.error().kind, ErrorKind::kUnavailable);
}

TEST(ChildCall, OneThatHangsIsGivenUpAndNotJoinedByAnother) {
  ChildCall child("ask");
  const auto hang = [&]() -> Result<std::string> {
    pause();
    return "";
  };
  const SteadyTime began = RealClock().Now();
  const auto late = child.Run(hang, milliseconds(50), -1);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(late.error().message, HasSubstr("ask: no answer within 50 ms"));
  EXPECT_LT(RealClock().Now() - began, milliseconds(10000));
}

TEST(ChildCall, AStopEndsTheWaiting) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  ChildCall child("ask");
  const auto stopped = child.Run(
      []() -> Result<std::string> {
        pause();
        return "";
      },
      milliseconds(60000), ends[0]);
  EXPECT_FALSE(stopped.has_value());
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace gantry::host
