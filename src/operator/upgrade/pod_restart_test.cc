// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "operator/upgrade/state.h"
#include "operator/upgrade/state_for_tests.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(Restart, TheOldPodGoesAndTheNewOneComes) {
  NodeInput node = NodeIn(State::kPodRestart, true);
  Step step = NextStep(node);
  ASSERT_TRUE(step.change.restart.has_value());
  EXPECT_EQ(step.change.restart->uid, "u");
  EXPECT_EQ(step.change.to, State::kPodRestart);
  node.driver->facts.deleting = true;
  EXPECT_TRUE(NextStep(node).change.empty());
  node.driver.reset();
  EXPECT_TRUE(NextStep(node).change.empty());
  node.driver = DriverPodThat(true);
  node.driver->judged = false;
  EXPECT_TRUE(NextStep(node).change.empty());
  node.driver = DriverPodThat(false, false);
  node.driver->facts.trouble = "d: ErrImagePull";
  step = NextStep(node);
  EXPECT_TRUE(step.change.empty());
  EXPECT_THAT(step.status.reason, HasSubstr("ErrImagePull"));
  EXPECT_EQ(step.status.deadline, kUpgradeNow + kRestartLimit);
  EXPECT_EQ(NextState(node, {}, kRestartLimit), State::kFailed);
  node.broken = "DriverNotInstalled: compile driver 1 for kernel 2: nv.c:3:1: error: no x";
  EXPECT_THAT(NextStep(node).status.reason, HasSubstr("ErrImagePull"));
  node.driver->facts.trouble = "";
  EXPECT_THAT(NextStep(node, {}, kRestartLimit).change.reason,
              HasSubstr("DriverNotInstalled: compile driver 1 for kernel 2: nv.c:3:1: error: no x"))
      << "a container that can't install the driver stays and does not fail";
  node.driver->facts.trouble = "d: ErrImagePull";
  node.driver->facts.given_up = true;
  step = NextStep(node);
  EXPECT_EQ(step.change.to, State::kFailed);
  EXPECT_THAT(step.change.reason, HasSubstr("does not start: d: ErrImagePull"));
  node.driver = DriverPodThat(false);
  step = NextStep(node);
  EXPECT_EQ(step.change.to, State::kValidation);
  EXPECT_THAT(step.change.annotations,
              Contains(Pair(names::kUpgradeValidationSince, "1700000000")));
}

// Somebody has corrected what kept it from starting, and removed the label: the pod's count of
// restarts is still what it was.
TEST(Restart, APodThatWasGivenUpBeforeGetsAnotherChance) {
  NodeInput node = NodeIn(State::kPodRestart, false, false);
  node.driver->facts.given_up = true;
  node.driver->facts.created = Rfc3339(kUpgradeNow - seconds(1));
  const Step step = NextStep(node);
  EXPECT_EQ(step.change.to, State::kPodRestart);
  ASSERT_TRUE(step.change.restart.has_value());
  EXPECT_EQ(step.change.restart->uid, "u");
  node.driver->facts.deleting = true;
  EXPECT_TRUE(NextStep(node).change.empty());
  node.driver->facts.deleting = false;
  node.driver->facts.created = Rfc3339(kUpgradeNow);
  EXPECT_EQ(NextState(node), State::kFailed) << "it is a new one";
}

TEST(Restart, AnOperatorThatWasAwayTriesItFirst) {
  NodeInput node = NodeIn(State::kPodRestart, true);
  node.seen_since = kUpgradeNow + seconds(5000);
  const Step step = NextStep(node, {}, seconds(5000));
  EXPECT_EQ(step.change.to, State::kPodRestart);
  EXPECT_TRUE(step.change.restart.has_value());
  EXPECT_EQ(NextState(node, {}, seconds(5060)), State::kFailed);
}

// A node that was not emptied, because its driver stays loaded: a second change exchanges it after
// all.
TEST(Restart, AnotherDriverMeanwhileEmptiesTheNodeFirst) {
  NodeInput node = NodeIn(State::kRequired, true);
  node.driver->same_driver = true;
  node.driver->facts.digest = "7";
  node = NodeAfter(node, Start(node, kUpgradeNow));
  ASSERT_EQ(node.state, State::kPodRestart);
  EXPECT_TRUE(NextStep(node).change.restart.has_value());

  NodeInput changed = node;
  changed.driver->same_driver = false;
  EXPECT_EQ(NextState(changed), State::kWaitForJobs);
  EXPECT_FALSE(NextStep(changed).change.restart.has_value());
  // Or the pod that came is one of another driver.
  NodeInput exchanged = node;
  exchanged.driver = DriverPodThat(false, false);
  exchanged.driver->facts.digest = "8";
  EXPECT_EQ(NextState(exchanged), State::kWaitForJobs);

  node.driver = DriverPodThat(false);
  node.driver->facts.digest = "7";
  node = NodeAfter(node, NextStep(node).change);
  ASSERT_EQ(node.state, State::kValidation);
  node.driver->outdated = true;
  EXPECT_EQ(NextState(node), State::kWaitForJobs);
  node.driver->same_driver = true;
  node = NodeAfter(node, NextStep(node).change);
  EXPECT_EQ(node.state, State::kPodRestart) << "its restart still leaves the driver loaded";
  node.driver->same_driver = false;
  node = NodeAfter(node, NextStep(node).change);
  ASSERT_EQ(node.state, State::kWaitForJobs);
  EXPECT_TRUE(CordonedByUs(node));
  // Once it is empty any driver may come.
  node = NodeAfter(node, NextStep(node).change);
  node.pods.emplace();
  node = NodeAfter(node, NextStep(node).change);
  ASSERT_EQ(node.state, State::kPodRestart);
  EXPECT_TRUE(NextStep(node).change.restart.has_value());
}

TEST(Restart, ADriverThatWaitsForAnEmptyNodeMayLoad) {
  NodeInput node = NodeIn(State::kPodRestart, true);
  node.marks[names::kUpgradeSafeLoad] = "1";
  EXPECT_THAT(NextStep(node).change.annotations, testing::IsEmpty()) << "the old one must go first";
  node.driver = DriverPodThat(false, false);
  const Change change = NextStep(node).change;
  EXPECT_EQ(change.to, State::kPodRestart);
  EXPECT_THAT(change.annotations, ElementsAre(Pair(names::kUpgradeSafeLoad, std::nullopt)));
}

TEST(Validation, WhatItTakes) {
  NodeInput node = NodeIn(State::kValidation);
  const auto waits = [&](const char* reason) {
    const Step step = NextStep(node, {}, seconds(599));
    EXPECT_TRUE(step.change.empty()) << reason;
    EXPECT_THAT(step.status.reason, HasSubstr(reason));
    EXPECT_EQ(step.status.deadline, kUpgradeNow + kValidationLimit);
    EXPECT_EQ(NextState(node, {}, seconds(600)), State::kFailed) << reason;
  };
  node.unseen = "being listed";
  const Step unseen = NextStep(node, {}, seconds(600));
  EXPECT_TRUE(unseen.change.empty()) << "an operator that was away has seen nothing yet";
  EXPECT_EQ(unseen.status.reason, "being listed");
  node.refused = true;
  waits("being listed");
  node.pods.emplace();
  waits("no pod of the validator");
  node.pods = {UserPod("a", {.ready = true}), UserPod("b")};
  waits("the validator is not ready");
  node.pods = {UserPod("a", {.deleting = true, .ready = true})};
  waits("the validator is not ready");
  node.pods = {UserPod("a", {.ready = true})};
  node.broken = "DriverMissing";
  waits("the validator finds: DriverMissing");
  node.broken = "";
  node.driver->facts.ready = false;
  waits("no longer ready");
  node.driver->facts.ready = true;
  EXPECT_EQ(NextState(node), State::kUncordon);
  EXPECT_EQ(NextStep(node).change.cordon, Change::Cordon::kLeave);
  node.driver->outdated = true;
  EXPECT_EQ(NextState(node), State::kPodRestart) << "the node is empty already";
  node.driver->outdated = false;
  node.driver->facts.ready = false;
  node.driver->facts.given_up = true;
  EXPECT_EQ(NextState(node), State::kFailed);
}

TEST(Validation, AnOperatorThatWasAwayLooksForAMinute) {
  NodeInput node = NodeIn(State::kValidation);
  node.pods.emplace();
  node.seen_since = kUpgradeNow + seconds(5000);
  EXPECT_EQ(NextState(node, {}, seconds(5059)), State::kValidation);
  EXPECT_EQ(NextState(node, {}, seconds(5060)), State::kFailed);
}

}  // namespace
}  // namespace gantry::gpu_operator::upgrade
