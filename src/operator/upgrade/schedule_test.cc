// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "operator/upgrade/state.h"
#include "operator/upgrade/state_for_tests.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

TEST(AtRest, ANodeOfTheCurrentDriverIsDone) {
  EXPECT_EQ(NextState(NodeIn(State::kUnknown)), State::kDone);
  EXPECT_TRUE(NextStep(NodeIn(State::kDone)).change.empty());
  EXPECT_THAT(NextStep(NodeIn(State::kUnknown)).change.annotations, testing::IsEmpty());
}

TEST(AtRest, WhatAsksForAnUpgrade) {
  for (const State state : {State::kUnknown, State::kDone}) {
    EXPECT_EQ(NextState(NodeIn(state, true)), State::kRequired);
    NodeInput requested = NodeIn(state);
    requested.marks[names::kUpgradeRequested] = "true";
    EXPECT_EQ(NextState(requested), State::kRequired);
    NodeInput waiting = NodeIn(state);
    waiting.marks[names::kUpgradeSafeLoad] = "1";
    EXPECT_EQ(NextState(waiting), State::kRequired);
    NodeInput left = NodeIn(state);
    left.cordoned = true;
    EXPECT_NE(NextState(left), State::kRequired) << "an administrator's cordon asks for nothing";
    left.marks[names::kUpgradeCordon] = "true";
    EXPECT_EQ(NextState(left), State::kRequired);
  }
}

// Its pod was deleted by hand, or the node has moved to another NVIDIADriver: the new pod is
// current and can't unload the old driver, which workloads use.
TEST(AtRest, ADriverThatFindsNoRoomIsGivenSome) {
  for (const State state : {State::kUnknown, State::kDone, State::kRequired}) {
    NodeInput node = NodeIn(state, false, false);
    node.driver->facts.trouble = "manager: Error: it is in use";
    EXPECT_FALSE(NextStep(node).waits_for_turn);
    EXPECT_NE(NextState(node), state == State::kRequired ? State::kDone : State::kRequired);
    node.driver->facts.init_fails = true;
    const Step step = NextStep(node);
    EXPECT_EQ(step.change.to, State::kRequired);
    EXPECT_EQ(step.waits_for_turn, state == State::kRequired);
    EXPECT_EQ(Start(node, kUpgradeNow).to, State::kCordon) << "the node is emptied";
    node.wanted = false;
    EXPECT_FALSE(NextStep(node).waits_for_turn) << "the host has a driver of its own";
    EXPECT_NE(NextState(node), state == State::kRequired ? State::kDone : State::kRequired);
  }
}

TEST(AtRest, NothingIsSaidOfWhatIsNotKnown) {
  NodeInput none = NodeIn(State::kUnknown);
  none.driver.reset();
  EXPECT_TRUE(NextStep(none).change.empty());
  NodeInput unjudged = NodeIn(State::kUnknown, true);
  unjudged.driver->judged = false;
  EXPECT_TRUE(NextStep(unjudged).change.empty());
  NodeInput ending = NodeIn(State::kDone, true);
  ending.driver->facts.deleting = true;
  EXPECT_TRUE(NextStep(ending).change.empty());
}

TEST(AtRest, ANodeThatIsTakenOutOfServiceKeepsNothing) {
  for (const State state : {State::kRequired, State::kCordon, State::kPodRestart, State::kFailed}) {
    NodeInput node = NodeIn(state);
    node.wanted = false;
    node.driver->facts.deleting = true;
    EXPECT_NE(NextState(node), State::kUnknown) << "its pod still ends";
    node.driver.reset();
    const Change change = NextStep(node).change;
    EXPECT_EQ(change.to, State::kUnknown);
    EXPECT_EQ(change.cordon, node.cordoned ? Change::Cordon::kUncordon : Change::Cordon::kLeave);
    EXPECT_EQ(change.annotations.size(), node.marks.size()) << "all go";
    node.marks[names::kUpgradeWasCordoned] = "true";
    EXPECT_EQ(NextStep(node).change.cordon, Change::Cordon::kLeave) << "others have cordoned it";
  }
  for (const State state : {State::kUnknown, State::kDone}) {
    NodeInput node = NodeIn(state);
    node.wanted = false;
    node.driver.reset();
    EXPECT_TRUE(NextStep(node).change.empty());
  }
}

TEST(Turn, WhoMayStart) {
  EXPECT_TRUE(NextStep(NodeIn(State::kRequired, true)).waits_for_turn);
  const auto waits = [](auto change, const char* reason) {
    NodeInput node = NodeIn(State::kRequired, true);
    change(node);
    const Step step = NextStep(node);
    EXPECT_FALSE(step.waits_for_turn) << reason;
    EXPECT_TRUE(step.change.empty()) << reason;
    EXPECT_THAT(step.status.reason, HasSubstr(reason));
  };
  waits([](NodeInput& node) { node.driver.reset(); }, "no pod of the driver");
  waits([](NodeInput& node) { node.driver->facts.deleting = true; }, "deleted by another client");
  waits([](NodeInput& node) { node.driver->judged = false; }, "no DaemonSet would bring");
  waits([](NodeInput& node) { node.skip = true; }, "gpu-driver-upgrade.skip");
  waits([](NodeInput& node) { node.ready = false; }, "not Ready");
  waits(
      [](NodeInput& node) {
        node.ready = false;
        node.cordoned = true;
      },
      "not Ready");
  waits(
      [](NodeInput& node) {
        node.driver->judged = false;
        node.driver->facts.daemon_set = "d";
      },
      "changed just now");
  waits(
      [](NodeInput& node) {
        node.driver = DriverPodThat(false, false);
        node.driver->facts.trouble = "d: Pulling";
      },
      "is not ready: d: Pulling");
}

TEST(Turn, WhatSomebodyElseHasUpdatedIsDone) {
  EXPECT_EQ(NextState(NodeIn(State::kRequired)), State::kDone);
  // But not where an upgrade has begun before: all of it is done again.
  NodeInput marked = NodeIn(State::kRequired);
  marked.cordoned = true;
  marked.marks[names::kUpgradeCordon] = "true";
  EXPECT_TRUE(NextStep(marked).waits_for_turn);
  NodeInput was = NodeIn(State::kRequired);
  was.marks[names::kUpgradeWasCordoned] = "true";
  EXPECT_TRUE(NextStep(was).waits_for_turn);
}

TEST(Start, CordonsNextUnlessTheDriverStaysLoaded) {
  NodeInput node = NodeIn(State::kRequired, true);
  node.marks[names::kUpgradeRequested] = "true";
  Change change = Start(node, kUpgradeNow);
  EXPECT_EQ(change.to, State::kCordon);
  EXPECT_EQ(change.cordon, Change::Cordon::kLeave);
  EXPECT_THAT(change.annotations, Contains(Pair(names::kUpgradeRequested, std::nullopt)));
  node.driver->same_driver = true;
  EXPECT_EQ(Start(node, kUpgradeNow).to, State::kCordon) << "asked for: all of it";
  node.marks.clear();
  change = Start(node, kUpgradeNow);
  EXPECT_EQ(change.to, State::kPodRestart);
  EXPECT_EQ(change.cordon, Change::Cordon::kCordon);
  EXPECT_THAT(change.annotations, Contains(Pair(names::kUpgradeCordon, "true")));
  node.marks[names::kUpgradeSafeLoad] = "1";
  EXPECT_EQ(Start(node, kUpgradeNow).to, State::kCordon);
}

TEST(Cordoning, OnePatchCordonsAndSaysWhoDid) {
  const Change ours = NextStep(NodeIn(State::kCordon)).change;
  EXPECT_EQ(ours.to, State::kWaitForJobs);
  EXPECT_EQ(ours.cordon, Change::Cordon::kCordon);
  EXPECT_THAT(ours.annotations, Contains(Pair(names::kUpgradeCordon, "true")));
  EXPECT_EQ(PatchOf(ours)["spec"]["unschedulable"], true);
  EXPECT_EQ(PatchOf(ours)["metadata"]["labels"][names::kDriverUpgradeState],
            "wait-for-jobs-required");
  NodeInput before = NodeIn(State::kCordon);
  before.cordoned = true;
  const Change theirs = NextStep(before).change;
  EXPECT_EQ(theirs.cordon, Change::Cordon::kLeave);
  EXPECT_THAT(theirs.annotations, Contains(Pair(names::kUpgradeWasCordoned, "true")));
  EXPECT_THAT(theirs.annotations, Not(Contains(Key(names::kUpgradeCordon))));
  EXPECT_FALSE(PatchOf(theirs).contains("spec"));
  before.marks[names::kUpgradeCordon] = "true";
  EXPECT_THAT(NextStep(before).change.annotations, Not(Contains(Key(names::kUpgradeWasCordoned))));
}

TEST(Cordoning, ByWhom) {
  NodeInput node = NodeIn(State::kDrain);
  EXPECT_TRUE(CordonedByUs(node));
  node.marks.erase(names::kUpgradeCordon);
  EXPECT_TRUE(CordonedByUs(node)) << "NVIDIA's operator has come as far without our mark";
  node.marks[names::kUpgradeWasCordoned] = "true";
  EXPECT_FALSE(CordonedByUs(node));
  NodeInput idle = NodeIn(State::kDone);
  idle.cordoned = true;
  EXPECT_FALSE(CordonedByUs(idle));
}

// Before it cordons a node, NVIDIA's operator writes whether it was cordoned already.
TEST(Cordoning, WhatNvidiasOperatorHasCordonedIsUncordonedAtTheEnd) {
  for (const State state : {State::kCordon, State::kWaitForJobs, State::kFailed}) {
    const NodeInput theirs = TheirNodeIn(state, true);
    Change change = NextStep(theirs).change;
    EXPECT_THAT(change.annotations, Contains(Pair(names::kUpgradeCordon, "true"))) << NameOf(state);
    EXPECT_THAT(change.annotations, Not(Contains(Key(names::kUpgradeWasCordoned))));
    EXPECT_THAT(change.annotations, Contains(Key(names::kUpgradeStep)));
    NodeInput ours = NodeAfter(theirs, change);
    EXPECT_TRUE(CordonedByUs(ours));
    EXPECT_EQ(Abandon(theirs).cordon, Change::Cordon::kUncordon);
    // Also if its label goes then, as it does when a failure was corrected.
    ours.state = State::kUnknown;
    EXPECT_TRUE(CordonedByUs(ours));
  }
  NodeInput before = TheirNodeIn(State::kCordon, true);
  before.marks[names::kUpgradeWasCordoned] = "true";
  EXPECT_THAT(NextStep(before).change.annotations, Not(Contains(Key(names::kUpgradeCordon))));
  // Where it has not, a cordon that comes later is somebody else's.
  NodeInput waiting = TheirNodeIn(State::kRequired, false);
  waiting = NodeAfter(waiting, NextStep(waiting).change);
  waiting.cordoned = true;
  EXPECT_FALSE(CordonedByUs(waiting));
  EXPECT_TRUE(NextStep(waiting).change.empty());
}

// NVIDIA's operator asks for the upgrade of nodes with orphaned drivers without a look at cordons,
// and people do by hand.
TEST(Cordoning, WhoOnlyAsksForAnUpgradeHasNotCordoned) {
  NodeInput node = TheirNodeIn(State::kRequired, true);
  EXPECT_EQ(Abandon(node).cordon, Change::Cordon::kLeave);
  for (const bool same_driver : {false, true}) {
    node.driver->same_driver = same_driver;
    const Change change = Start(node, kUpgradeNow);
    EXPECT_EQ(change.to, same_driver ? State::kPodRestart : State::kCordon);
    NodeInput started = NodeAfter(node, change);
    EXPECT_THAT(change.annotations, Not(Contains(Key(names::kUpgradeCordon))));
    EXPECT_EQ(CordonedByUs(same_driver ? started : NodeAfter(started, NextStep(started).change)),
              false);
  }
}

}  // namespace
}  // namespace gantry::gpu_operator::upgrade
