// SPDX-License-Identifier: Apache-2.0
#include "agent/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "base/testing/temp_folder.h"

namespace gantry::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LoopTest : public testing::Test {
 protected:
  LoopTest()
      : loop_({.failure = "labels stay as they are", .settle = milliseconds(20)}, signals_,
              host::Watcher::Create().value()) {}

  // Looks until `looks` are made, calling `each` with the number of the look; the next look is due
  // after `pause`.
  int Run(int looks, const std::function<Status(int)>& each, seconds pause = seconds(60)) {
    return loop_.Run([&] { return each(++looked_); },
                     [&](const Status&) { return RealClock().Now() + pause; }, {},
                     [&] { return looked_ == looks; });
  }

  host::Signals signals_;
  Loop loop_;
  int looked_ = 0;
};

TEST_F(LoopTest, OneLookIsSuccessOrFailure) {
  EXPECT_EQ(Run(1, [](int) { return Status(); }), 0);
  looked_ = 0;
  EXPECT_EQ(Run(1, [](int) { return Fail(ErrorKind::kInvalid, "wrong"); }), 1);
}

TEST_F(LoopTest, LooksAgainWhenAWatchedPathChanges) {
  const TempFolder folder;
  ASSERT_TRUE(loop_.watcher().Add(folder.path()));
  EXPECT_EQ(Run(2,
                [&](int) {
                  folder.Write("a", "");
                  folder.Write("b", "");
                  return Status();
                }),
            0);
}

TEST_F(LoopTest, AFailureIsTriedAgainAndLoggedOnce) {
  testing::internal::CaptureStderr();
  const SteadyTime began = RealClock().Now();
  EXPECT_EQ(Run(3,
                [](int look) {
                  return look < 3 ? Fail(ErrorKind::kUnavailable, "no server") : Status();
                }),
            0);
  EXPECT_LT(RealClock().Now() - began, seconds(10));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::HasSubstr(" W labels stay as they are: no server"));
  EXPECT_EQ(said.find("no server"), said.rfind("no server"));
}

TEST_F(LoopTest, WhatIsWrongIsNotTriedAgainBeforeItsTime) {
  const SteadyTime began = RealClock().Now();
  EXPECT_EQ(Run(2, [](int) { return Fail(ErrorKind::kInvalid, "wrong"); }, seconds(2)), 1);
  EXPECT_GE(RealClock().Now() - began, seconds(2));
}

TEST_F(LoopTest, SighupAsksForWhatWasPublished) {
  loop_.Verified();
  EXPECT_FALSE(loop_.VerifyIsDue());
  EXPECT_EQ(Run(2,
                [](int) {
                  kill(getpid(), SIGHUP);
                  return Status();
                }),
            0);
  EXPECT_TRUE(loop_.VerifyIsDue());
}

TEST_F(LoopTest, SigtermEndsIt) {
  EXPECT_EQ(Run(9,
                [](int) {
                  kill(getpid(), SIGTERM);
                  return Fail(ErrorKind::kInvalid, "wrong");
                }),
            0);
  EXPECT_EQ(looked_, 1);
}

}  // namespace
}  // namespace gantry::agent
