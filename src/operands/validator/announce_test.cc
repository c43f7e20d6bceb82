// SPDX-License-Identifier: Apache-2.0
#include "operands/validator/announce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::validator {
namespace {

using std::chrono::seconds;
using State = Finding::State;

StageMemory Memory(State state, bool file_there, const std::string& reason = "Reason") {
  StageMemory memory;
  memory.last = Finding{
      .state = state, .reason = reason, .message = "seen", .remedy = "do this", .values = {}};
  memory.file_there = file_there;
  return memory;
}

TEST(Summarize, WholeOnlyWhenEachStageWasSeen) {
  const StageMemory ready = Memory(State::kReady, true);
  const StageMemory skipped = Memory(State::kSkipped, false);
  const StageMemory not_needed = Memory(State::kNotNeeded, false);
  const StageMemory unseen;
  EXPECT_EQ(Summarize({}), std::nullopt);
  EXPECT_EQ(Summarize({{"driver", &ready}, {"toolkit", &unseen}}), std::nullopt);
  const auto verdict = Summarize({{"driver", &ready}, {"cuda", &skipped}, {"mofed", &not_needed}});
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->ready);
  EXPECT_EQ(verdict->reason, "ready");
}

TEST(Summarize, TheFirstThingThatIsNotWhole) {
  const StageMemory ready = Memory(State::kReady, true);
  const StageMemory driver = Memory(State::kNotReady, false, "DeviceNodeMissing");
  const StageMemory plugin = Memory(State::kNotReady, false, "NoGpuAllocatable");
  const StageMemory unseen;
  const auto verdict =
      Summarize({{"toolkit", &unseen}, {"driver", &driver}, {"plugin", &plugin}, {"x", &ready}});
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->ready);
  EXPECT_EQ(verdict->reason, "DeviceNodeMissing");
  EXPECT_EQ(verdict->message, "driver: seen; do this");
}

TEST(Summarize, WhatMayStillPassSaysNothing) {
  const StageMemory ready = Memory(State::kReady, true);
  const StageMemory held_back = Memory(State::kNotReady, true);
  EXPECT_EQ(Summarize({{"driver", &ready}, {"plugin", &held_back}}), std::nullopt);
  const StageMemory unknown = Memory(State::kUnknown, false);
  EXPECT_EQ(Summarize({{"driver", &ready}, {"plugin", &unknown}}), std::nullopt);
  const StageMemory unknown_but_true = Memory(State::kUnknown, true);
  EXPECT_TRUE(Summarize({{"driver", &ready}, {"plugin", &unknown_but_true}}));
}

// A driver takes seconds to answer, and CUDA some more.
TEST(Summarize, AStageThatWaitsForAnotherIsNoNews) {
  const StageMemory ready = Memory(State::kReady, true);
  const StageMemory missing = Memory(State::kNotReady, false, "DriverMissing");
  const StageMemory unseen;
  StageMemory cuda = Memory(State::kNotReady, false, "DriverNotReady");
  cuda.last->waits = true;
  EXPECT_EQ(Summarize({{"driver", &unseen}, {"cuda", &cuda}}), std::nullopt);
  EXPECT_EQ(Summarize({{"driver", &ready}, {"cuda", &cuda}}), std::nullopt);
  EXPECT_EQ(Summarize({{"driver", &missing}, {"cuda", &cuda}})->reason, "DriverMissing");
}

TEST(Summarize, WhatIsToBeDoneOnAReadyNodeIsInItsSentence) {
  StageMemory toolkit = Memory(State::kReady, true);
  EXPECT_EQ(Summarize({{"toolkit", &toolkit}})->message,
            "driver, toolkit and GPUs work; toolkit: seen; do this");
  toolkit.last->remedy = "";
  EXPECT_EQ(Summarize({{"toolkit", &toolkit}})->message, kAllWorks);
}

class AnnounceTest : public ::testing::Test {
 protected:
  Announcement Now(const std::optional<NodeVerdict>& verdict) {
    return DecideAnnouncement(memory_, verdict, now_);
  }
  void Told(const NodeVerdict& verdict) { NoteAnnounced(memory_, verdict, true, now_); }

  const NodeVerdict good_ = {true, "ready", "well"};
  const NodeVerdict bad_ = {false, "DriverHangs", "it hangs"};
  const NodeVerdict worse_ = {false, "DriverMissing", "it is gone"};
  AnnouncementMemory memory_;
  SteadyTime now_{seconds(100)};
};

TEST_F(AnnounceTest, GoodNewsAtOnceAndOnce) {
  EXPECT_EQ(Now(good_).say, good_);
  Told(good_);
  EXPECT_EQ(Now(good_).say, std::nullopt);
  EXPECT_EQ(Now(std::nullopt).say, std::nullopt);
}

TEST_F(AnnounceTest, BadNewsWhenItStays) {
  const Announcement first = Now(bad_);
  EXPECT_EQ(first.say, std::nullopt);
  EXPECT_EQ(first.look_again, now_ + seconds(2));
  now_ += seconds(1);
  EXPECT_EQ(Now(worse_).say, std::nullopt);
  now_ += seconds(1);
  EXPECT_EQ(Now(worse_).say, std::nullopt) << "another reason is news of its own";
  now_ += seconds(1);
  EXPECT_EQ(Now(worse_).say, worse_);
}

TEST_F(AnnounceTest, AnotherSentenceOfTheSameReasonIsNews) {
  Now(bad_);
  now_ += seconds(2);
  ASSERT_EQ(Now(bad_).say, bad_);
  Told(bad_);
  const NodeVerdict other = {false, bad_.reason, "it hangs elsewhere"};
  EXPECT_EQ(Now(other).look_again, now_ + seconds(30));
  now_ += seconds(30);
  EXPECT_EQ(Now(other).say, other);
}

TEST_F(AnnounceTest, BadNewsIsRepeatedWhileItStays) {
  Now(bad_);
  now_ += seconds(2);
  Told(bad_);
  EXPECT_EQ(Now(bad_).say, std::nullopt);
  EXPECT_EQ(Now(bad_).look_again, now_ + std::chrono::minutes(30));
  now_ += std::chrono::minutes(30);
  EXPECT_EQ(Now(bad_).say, bad_);
  Told(bad_);
  EXPECT_EQ(Now(bad_).say, std::nullopt);
  now_ += std::chrono::minutes(31);
  Told(good_);
  now_ += std::chrono::minutes(31);
  EXPECT_EQ(Now(good_).say, std::nullopt) << "good news is not";
}

TEST_F(AnnounceTest, WhatPassesIsNotTold) {
  Told(good_);
  Now(bad_);
  now_ += seconds(1);
  EXPECT_EQ(Now(good_).say, std::nullopt);
  now_ += seconds(5);
  EXPECT_EQ(Now(bad_).say, std::nullopt) << "its two seconds begin anew";
}

TEST_F(AnnounceTest, AFailureIsTriedAgainLaterAndLater) {
  NoteAnnounced(memory_, good_, false, now_);
  EXPECT_EQ(Now(good_).say, std::nullopt);
  EXPECT_EQ(Now(good_).look_again, now_ + seconds(1));
  now_ += seconds(1);
  EXPECT_EQ(Now(good_).say, good_);
  NoteAnnounced(memory_, good_, false, now_);
  EXPECT_EQ(Now(good_).look_again, now_ + seconds(2));
  for (int i = 0; i < 10; ++i) {
    NoteAnnounced(memory_, good_, false, now_);
  }
  EXPECT_EQ(Now(good_).look_again, now_ + seconds(60));
}

}  // namespace
}  // namespace gantry::validator
