// SPDX-License-Identifier: Apache-2.0

#include "operator/upgrade/annotations.h"

#include <gtest/gtest.h>

namespace gantry::gpu_operator::upgrade {
namespace {

using std::chrono::seconds;

const WallTime kThen{seconds(1'700'000'000)};

TEST(State, NamesAreNvidias) {
  for (const char* name :
       {"", "upgrade-done", "upgrade-required", "cordon-required", "wait-for-jobs-required",
        "pod-deletion-required", "drain-required", "pod-restart-required", "validation-required",
        "uncordon-required", "upgrade-failed"}) {
    EXPECT_EQ(NameOf(StateNamed(name)), name);
  }
  EXPECT_EQ(StateNamed("node-maintenance-required"), State::kUnknown);
  EXPECT_FALSE(InProgress(State::kUnknown) || InProgress(State::kDone) ||
               InProgress(State::kRequired));
  EXPECT_TRUE(InProgress(State::kCordon) && InProgress(State::kFailed));
}

TEST(Record, ThereAndBack) {
  const Record record{State::kFailed, kThen, "it\nbroke  twice"};
  EXPECT_EQ(FormatRecord(record), "upgrade-failed 1700000000 it broke  twice");
  const auto back = ParseRecord(FormatRecord(record));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->state, record.state);
  EXPECT_EQ(back->since, record.since);
  EXPECT_EQ(back->reason, "it broke  twice");
  EXPECT_EQ(ParseRecord("drain-required 5")->reason, "");
  EXPECT_EQ(FormatRecord({State::kPodRestart, kThen, "", "42"}),
            "pod-restart-required 1700000000 loaded=42");
  EXPECT_EQ(ParseRecord("pod-restart-required 5 loaded=42")->loaded, "42");
  EXPECT_EQ(ParseRecord("pod-restart-required 5 loaded=42")->reason, "");
  EXPECT_EQ(ParseRecord("pod-restart-required 5 loaded=42 why")->reason, "why");
  EXPECT_EQ(ParseRecord("upgrade-failed 5 loaded=42")->reason, "loaded=42") << "its own words";
  for (const char* wrong : {"", "drain-required", "drain-required x", "other 5",
                            "drain-required -1", "drain-required 99999999999999"}) {
    EXPECT_FALSE(ParseRecord(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace gantry::gpu_operator::upgrade
