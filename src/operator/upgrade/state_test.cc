// SPDX-License-Identifier: Apache-2.0

#include "operator/upgrade/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

using Cordon = Change::Cordon;

constexpr long long kStart = 1'700'000'000;
const WallTime kNow{seconds(kStart)};

DriverPod Driver(bool outdated, bool ready = true) {
  DriverPod driver;
  driver.key = {"ns", "driver"};
  driver.facts.uid = "u";
  driver.facts.created = Rfc3339(kNow);
  driver.facts.ready = ready;
  driver.judged = true;
  driver.outdated = outdated;
  return driver;
}

NodeInput Node(State state, bool outdated = false, bool ready = true) {
  NodeInput node;
  node.name = "n";
  node.state = state;
  node.driver = Driver(outdated, ready);
  if (InProgress(state) || state == State::kRequired) {
    node.marks[names::kUpgradeStep] = FormatRecord({state, kNow, ""});
  }
  if (InProgress(state) && state != State::kCordon) {
    node.cordoned = true;
    node.marks[names::kUpgradeCordon] = "true";
  }
  return node;
}

// As NVIDIA's operator leaves it.
NodeInput Theirs(State state, bool cordoned) {
  NodeInput node = Node(state, true);
  node.marks.clear();
  node.cordoned = cordoned;
  return node;
}

// What comes of the node when that is written.
NodeInput After(NodeInput node, const Change& change) {
  node.state = change.to;
  for (const auto& [key, value] : change.annotations) {
    node.marks.erase(key);
    if (value.has_value()) {
      node.marks[key] = *value;
    }
  }
  if (change.cordon != Cordon::kLeave) {
    node.cordoned = change.cordon == Cordon::kCordon;
  }
  return node;
}

NamedPod UserPod(const char* name, PodFacts facts = {}) {
  return {{"users", name}, std::move(facts)};
}

PodFacts GpuPod() { return {.uid = "g", .managed = true, .uses_gpus = true}; }

Step Next(const NodeInput& node, const policy::UpgradePolicy& policy = {}, seconds after = {}) {
  return Advance(node, policy, kNow + after);
}

State To(const NodeInput& node, const policy::UpgradePolicy& policy = {}, seconds after = {}) {
  return Next(node, policy, after).change.to;
}

TEST(AtRest, ANodeOfTheCurrentDriverIsDone) {
  EXPECT_EQ(To(Node(State::kUnknown)), State::kDone);
  EXPECT_TRUE(Next(Node(State::kDone)).change.empty());
  EXPECT_THAT(Next(Node(State::kUnknown)).change.annotations, testing::IsEmpty());
}

TEST(AtRest, WhatAsksForAnUpgrade) {
  for (const State state : {State::kUnknown, State::kDone}) {
    EXPECT_EQ(To(Node(state, true)), State::kRequired);
    NodeInput requested = Node(state);
    requested.marks[names::kUpgradeRequested] = "true";
    EXPECT_EQ(To(requested), State::kRequired);
    NodeInput waiting = Node(state);
    waiting.marks[names::kUpgradeSafeLoad] = "1";
    EXPECT_EQ(To(waiting), State::kRequired);
    NodeInput left = Node(state);
    left.cordoned = true;
    EXPECT_NE(To(left), State::kRequired) << "an administrator's cordon asks for nothing";
    left.marks[names::kUpgradeCordon] = "true";
    EXPECT_EQ(To(left), State::kRequired);
  }
}

// Its pod was deleted by hand, or the node has moved to another NVIDIADriver: the new pod is
// current and can't unload the old driver, which workloads use.
TEST(AtRest, ADriverThatFindsNoRoomIsGivenSome) {
  for (const State state : {State::kUnknown, State::kDone, State::kRequired}) {
    NodeInput node = Node(state, false, false);
    node.driver->facts.trouble = "manager: Error: it is in use";
    EXPECT_FALSE(Next(node).waits_for_turn);
    EXPECT_NE(To(node), state == State::kRequired ? State::kDone : State::kRequired);
    node.driver->facts.init_fails = true;
    const Step step = Next(node);
    EXPECT_EQ(step.change.to, State::kRequired);
    EXPECT_EQ(step.waits_for_turn, state == State::kRequired);
    EXPECT_EQ(Start(node, kNow).to, State::kCordon) << "the node is emptied";
    node.wanted = false;
    EXPECT_FALSE(Next(node).waits_for_turn) << "the host has a driver of its own";
    EXPECT_NE(To(node), state == State::kRequired ? State::kDone : State::kRequired);
  }
}

TEST(AtRest, NothingIsSaidOfWhatIsNotKnown) {
  NodeInput none = Node(State::kUnknown);
  none.driver.reset();
  EXPECT_TRUE(Next(none).change.empty());
  NodeInput unjudged = Node(State::kUnknown, true);
  unjudged.driver->judged = false;
  EXPECT_TRUE(Next(unjudged).change.empty());
  NodeInput ending = Node(State::kDone, true);
  ending.driver->facts.deleting = true;
  EXPECT_TRUE(Next(ending).change.empty());
}

TEST(AtRest, ANodeThatIsTakenOutOfServiceKeepsNothing) {
  for (const State state : {State::kRequired, State::kCordon, State::kPodRestart, State::kFailed}) {
    NodeInput node = Node(state);
    node.wanted = false;
    node.driver->facts.deleting = true;
    EXPECT_NE(To(node), State::kUnknown) << "its pod still ends";
    node.driver.reset();
    const Change change = Next(node).change;
    EXPECT_EQ(change.to, State::kUnknown);
    EXPECT_EQ(change.cordon, node.cordoned ? Cordon::kUncordon : Cordon::kLeave);
    EXPECT_EQ(change.annotations.size(), node.marks.size()) << "all go";
    node.marks[names::kUpgradeWasCordoned] = "true";
    EXPECT_EQ(Next(node).change.cordon, Cordon::kLeave) << "others have cordoned it";
  }
  for (const State state : {State::kUnknown, State::kDone}) {
    NodeInput node = Node(state);
    node.wanted = false;
    node.driver.reset();
    EXPECT_TRUE(Next(node).change.empty());
  }
}

TEST(Turn, WhoMayStart) {
  EXPECT_TRUE(Next(Node(State::kRequired, true)).waits_for_turn);
  const auto waits = [](auto change, const char* reason) {
    NodeInput node = Node(State::kRequired, true);
    change(node);
    const Step step = Next(node);
    EXPECT_FALSE(step.waits_for_turn) << reason;
    EXPECT_TRUE(step.change.empty()) << reason;
    EXPECT_THAT(step.status.reason, HasSubstr(reason));
  };
  waits([](NodeInput& node) { node.driver.reset(); }, "no pod of the driver");
  waits([](NodeInput& node) { node.driver->facts.deleting = true; }, "deleted by somebody");
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
        node.driver = Driver(false, false);
        node.driver->facts.trouble = "d: Pulling";
      },
      "is not ready: d: Pulling");
}

TEST(Turn, WhatSomebodyElseHasUpdatedIsDone) {
  EXPECT_EQ(To(Node(State::kRequired)), State::kDone);
  // But not where an upgrade has begun before: all of it is done again.
  NodeInput marked = Node(State::kRequired);
  marked.cordoned = true;
  marked.marks[names::kUpgradeCordon] = "true";
  EXPECT_TRUE(Next(marked).waits_for_turn);
  NodeInput was = Node(State::kRequired);
  was.marks[names::kUpgradeWasCordoned] = "true";
  EXPECT_TRUE(Next(was).waits_for_turn);
}

TEST(Start, CordonsNextUnlessTheDriverStaysLoaded) {
  NodeInput node = Node(State::kRequired, true);
  node.marks[names::kUpgradeRequested] = "true";
  Change change = Start(node, kNow);
  EXPECT_EQ(change.to, State::kCordon);
  EXPECT_EQ(change.cordon, Cordon::kLeave);
  EXPECT_THAT(change.annotations, Contains(Pair(names::kUpgradeRequested, std::nullopt)));
  node.driver->same_driver = true;
  EXPECT_EQ(Start(node, kNow).to, State::kCordon) << "asked for: all of it";
  node.marks.clear();
  change = Start(node, kNow);
  EXPECT_EQ(change.to, State::kPodRestart);
  EXPECT_EQ(change.cordon, Cordon::kCordon);
  EXPECT_THAT(change.annotations, Contains(Pair(names::kUpgradeCordon, "true")));
  node.marks[names::kUpgradeSafeLoad] = "1";
  EXPECT_EQ(Start(node, kNow).to, State::kCordon);
}

TEST(Cordoning, OnePatchCordonsAndSaysWhoDid) {
  const Change ours = Next(Node(State::kCordon)).change;
  EXPECT_EQ(ours.to, State::kWaitForJobs);
  EXPECT_EQ(ours.cordon, Cordon::kCordon);
  EXPECT_THAT(ours.annotations, Contains(Pair(names::kUpgradeCordon, "true")));
  EXPECT_EQ(PatchOf(ours)["spec"]["unschedulable"], true);
  EXPECT_EQ(PatchOf(ours)["metadata"]["labels"][names::kDriverUpgradeState],
            "wait-for-jobs-required");
  NodeInput before = Node(State::kCordon);
  before.cordoned = true;
  const Change theirs = Next(before).change;
  EXPECT_EQ(theirs.cordon, Cordon::kLeave);
  EXPECT_THAT(theirs.annotations, Contains(Pair(names::kUpgradeWasCordoned, "true")));
  EXPECT_THAT(theirs.annotations, Not(Contains(Key(names::kUpgradeCordon))));
  EXPECT_FALSE(PatchOf(theirs).contains("spec"));
  before.marks[names::kUpgradeCordon] = "true";
  EXPECT_THAT(Next(before).change.annotations, Not(Contains(Key(names::kUpgradeWasCordoned))));
}

TEST(Cordoning, ByWhom) {
  NodeInput node = Node(State::kDrain);
  EXPECT_TRUE(CordonedByUs(node));
  node.marks.erase(names::kUpgradeCordon);
  EXPECT_TRUE(CordonedByUs(node)) << "NVIDIA's operator has come as far without our mark";
  node.marks[names::kUpgradeWasCordoned] = "true";
  EXPECT_FALSE(CordonedByUs(node));
  NodeInput idle = Node(State::kDone);
  idle.cordoned = true;
  EXPECT_FALSE(CordonedByUs(idle));
}

// Before it cordons a node, NVIDIA's operator writes whether it was cordoned already.
TEST(Cordoning, WhatNvidiasOperatorHasCordonedIsUncordonedAtTheEnd) {
  for (const State state : {State::kCordon, State::kWaitForJobs, State::kFailed}) {
    const NodeInput theirs = Theirs(state, true);
    Change change = Next(theirs).change;
    EXPECT_THAT(change.annotations, Contains(Pair(names::kUpgradeCordon, "true"))) << NameOf(state);
    EXPECT_THAT(change.annotations, Not(Contains(Key(names::kUpgradeWasCordoned))));
    EXPECT_THAT(change.annotations, Contains(Key(names::kUpgradeStep)));
    NodeInput ours = After(theirs, change);
    EXPECT_TRUE(CordonedByUs(ours));
    EXPECT_EQ(Abandon(theirs).cordon, Cordon::kUncordon);
    // Also if its label goes then, as it does when a failure was corrected.
    ours.state = State::kUnknown;
    EXPECT_TRUE(CordonedByUs(ours));
  }
  NodeInput before = Theirs(State::kCordon, true);
  before.marks[names::kUpgradeWasCordoned] = "true";
  EXPECT_THAT(Next(before).change.annotations, Not(Contains(Key(names::kUpgradeCordon))));
  // Where it has not, a cordon that comes later is somebody else's.
  NodeInput waiting = Theirs(State::kRequired, false);
  waiting = After(waiting, Next(waiting).change);
  waiting.cordoned = true;
  EXPECT_FALSE(CordonedByUs(waiting));
  EXPECT_TRUE(Next(waiting).change.empty());
}

// NVIDIA's operator asks for the upgrade of nodes with orphaned drivers without a look at cordons,
// and people do by hand.
TEST(Cordoning, WhoOnlyAsksForAnUpgradeHasNotCordoned) {
  NodeInput node = Theirs(State::kRequired, true);
  EXPECT_EQ(Abandon(node).cordon, Cordon::kLeave);
  for (const bool same_driver : {false, true}) {
    node.driver->same_driver = same_driver;
    const Change change = Start(node, kNow);
    EXPECT_EQ(change.to, same_driver ? State::kPodRestart : State::kCordon);
    NodeInput started = After(node, change);
    EXPECT_THAT(change.annotations, Not(Contains(Key(names::kUpgradeCordon))));
    EXPECT_EQ(CordonedByUs(same_driver ? started : After(started, Next(started).change)), false);
  }
}

TEST(Jobs, AreWaitedFor) {
  EXPECT_EQ(To(Node(State::kWaitForJobs)), State::kPodDeletion);
  policy::UpgradePolicy policy{.jobs_selector = "a=b"};
  NodeInput node = Node(State::kWaitForJobs);
  node.unseen = "being listed";
  EXPECT_EQ(Next(node, policy).status.reason, "being listed");
  node.pods = {UserPod("a"), UserPod("b", {.finished = true})};
  Step step = Next(node, policy, seconds(1'000'000));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.requeue_at, std::nullopt);
  EXPECT_THAT(step.status.reason, HasSubstr("1 pods"));
  policy.jobs_timeout = seconds(60);
  step = Next(node, policy, seconds(59));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.requeue_at, kNow + seconds(60));
  EXPECT_EQ(step.status.deadline, kNow + seconds(60));
  EXPECT_EQ(To(node, policy, seconds(60)), State::kPodDeletion);
  // NVIDIA's annotation says since when, if it is there.
  node.marks[names::kUpgradeJobsSince] = std::to_string(kStart + 100);
  EXPECT_TRUE(Next(node, policy, seconds(159)).change.empty());
  const Change on = Next(node, policy, seconds(160)).change;
  EXPECT_EQ(on.to, State::kPodDeletion);
  EXPECT_THAT(on.annotations, Contains(Pair(names::kUpgradeJobsSince, std::nullopt)));
  node.pods = {UserPod("b", {.finished = true})};
  EXPECT_EQ(To(node, policy), State::kPodDeletion);
}

TEST(Jobs, TheirTimeIsWrittenWhenItCounts) {
  policy::UpgradePolicy policy{.jobs_selector = "a=b", .jobs_timeout = seconds(60)};
  EXPECT_THAT(Next(Node(State::kCordon), policy).change.annotations,
              Contains(Pair(names::kUpgradeJobsSince, "1700000000")));
  policy.jobs_timeout = seconds(0);
  EXPECT_THAT(Next(Node(State::kCordon), policy).change.annotations,
              Not(Contains(Key(names::kUpgradeJobsSince))));
}

TEST(PodDeletion, ConcernsPodsWithGpus) {
  NodeInput node = Node(State::kPodDeletion);
  node.unseen = "being listed";
  EXPECT_TRUE(Next(node).change.empty());
  PodFacts finished = GpuPod();
  finished.finished = true;
  PodFacts plugin = GpuPod();
  plugin.daemon_set = "d";
  PodFacts mirror = GpuPod();
  mirror.mirror = true;
  node.pods = {UserPod("web"), UserPod("f", finished), UserPod("p", plugin), UserPod("m", mirror)};
  EXPECT_EQ(To(node), State::kPodRestart);
  PodFacts ending = GpuPod();
  ending.deleting = true;
  node.pods->push_back(UserPod("train", GpuPod()));
  node.pods->push_back(UserPod("ends", ending));
  const Step step = Next(node);
  EXPECT_EQ(step.change.to, State::kPodDeletion);
  ASSERT_EQ(step.change.evict.size(), 1U);
  EXPECT_EQ(step.change.evict[0].key.name, "train");
  EXPECT_EQ(step.change.evict[0].uid, "g");
  EXPECT_EQ(step.status.deadline, kNow + seconds(300));
  EXPECT_EQ(step.requeue_at, kNow + kEvictAgain);
}

TEST(PodDeletion, IsTriedAgainAndEndsInTime) {
  NodeInput node = Node(State::kPodDeletion);
  node.pods = {UserPod("train", GpuPod())};
  node.eviction = Eviction{kNow, "a budget forbids it"};
  Step step = Next(node, {}, seconds(4));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.requeue_at, kNow + kEvictAgain);
  EXPECT_THAT(step.status.reason, HasSubstr("users/train (a budget forbids it)"));
  EXPECT_EQ(Next(node, {}, seconds(5)).change.evict.size(), 1U);
  step = Next(node, {}, seconds(300));
  EXPECT_EQ(step.change.to, State::kFailed);
  EXPECT_THAT(step.change.reason, HasSubstr("not empty after 300 s"));
  EXPECT_THAT(ParseRecord(*step.change.annotations.at(names::kUpgradeStep))->reason,
              HasSubstr("a budget forbids it"));
  policy::UpgradePolicy endless{.pod_deletion = {.timeout = seconds(0)}};
  EXPECT_EQ(To(node, endless, seconds(1'000'000)), State::kPodDeletion);
}

TEST(PodDeletion, TimeThatRanOutWhileNobodyWasHereLeavesAMinute) {
  NodeInput node = Node(State::kPodDeletion);
  node.pods = {UserPod("train", GpuPod())};
  node.seen_since = kNow + seconds(1000);
  Step step = Next(node, {}, seconds(1000));
  EXPECT_EQ(step.change.to, State::kPodDeletion);
  EXPECT_EQ(step.change.evict.size(), 1U);
  EXPECT_EQ(step.requeue_at, kNow + seconds(1000) + kEvictAgain);
  EXPECT_EQ(step.status.deadline, kNow + seconds(1000) + kLeastTime);
  EXPECT_EQ(To(node, {}, seconds(1060)), State::kFailed);
  const policy::UpgradePolicy quick{.pod_deletion = {.timeout = seconds(7)}};
  EXPECT_EQ(To(node, quick, seconds(1007)), State::kFailed);
}

// It has a finalizer, or its kubelet is dead: there is nothing to evict.
TEST(PodDeletion, APodThatDoesNotEndIsNotWaitedForForEver) {
  NodeInput node = Node(State::kPodDeletion);
  node.pods = {UserPod("train", GpuPod())};
  node.pods->front().facts.deleting = true;
  Step step = Next(node, {}, seconds(299));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.requeue_at, kNow + seconds(300));
  step = Next(node, {}, seconds(300));
  EXPECT_EQ(step.change.to, State::kFailed);
  EXPECT_THAT(step.change.reason, HasSubstr("users/train, which is being deleted"));
  EXPECT_EQ(To(node, {.drain = true}, seconds(300)), State::kDrain);
  node.state = State::kDrain;
  node.marks[names::kUpgradeStep] = FormatRecord({State::kDrain, kNow, ""});
  EXPECT_EQ(To(node, {.drain = true}, seconds(300)), State::kFailed);
}

TEST(Emptying, ASelectorThatTheApiServerRefusesEndsInTime) {
  const policy::UpgradePolicy policy{
      .jobs_selector = "a b", .jobs_timeout = seconds(300), .drain = true};
  for (const auto& [state, next] : {std::pair(State::kWaitForJobs, State::kPodDeletion),
                                    std::pair(State::kDrain, State::kFailed)}) {
    NodeInput node = Node(state);
    node.unseen = "unable to parse";
    EXPECT_TRUE(Next(node, policy, seconds(300)).change.empty()) << "it may yet be seen";
    node.refused = true;
    EXPECT_THAT(Next(node, policy, seconds(299)).status.reason, HasSubstr("unable to parse"));
    EXPECT_EQ(To(node, policy, seconds(299)), state);
    const Step step = Next(node, policy, seconds(300));
    EXPECT_EQ(step.change.to, next);
    EXPECT_THAT(step.change.reason, HasSubstr("unable to parse"));
  }
}

TEST(PodDeletion, WhatMayNotBeDeletedFailsAtOnceOrIsLeftToTheDrain) {
  PodFacts bare = GpuPod();
  bare.managed = false;
  PodFacts scratch = GpuPod();
  scratch.has_empty_dir = true;
  for (const PodFacts& facts : {bare, scratch}) {
    NodeInput node = Node(State::kPodDeletion);
    node.pods = {UserPod("train", facts)};
    const Step step = Next(node);
    EXPECT_EQ(step.change.to, State::kFailed);
    EXPECT_THAT(step.change.reason, HasSubstr("users/train"));
    EXPECT_EQ(To(node, {.drain = true}), State::kDrain);
    const policy::UpgradePolicy allowed{.pod_deletion = {.force = true, .delete_empty_dir = true}};
    EXPECT_EQ(Next(node, allowed).change.evict.size(), 1U);
    node.pods->front().facts.deleting = true;
    EXPECT_EQ(To(node), State::kPodDeletion) << "it goes already";
  }
}

TEST(Drain, ConcernsEveryPodAndFailsForGood) {
  EXPECT_EQ(To(Node(State::kDrain)), State::kPodRestart) << "switched off meanwhile";
  const policy::UpgradePolicy policy{.drain = true, .drain_spec = {.timeout = seconds(10)}};
  NodeInput node = Node(State::kDrain);
  node.pods = {UserPod("web", {.managed = true}), UserPod("f", {.finished = true})};
  EXPECT_EQ(Next(node, policy).change.evict.size(), 2U);
  node.eviction = Eviction{kNow, ""};
  EXPECT_EQ(To(node, policy, seconds(10)), State::kFailed);
  node.pods = {UserPod("bare")};
  EXPECT_EQ(To(node, policy), State::kFailed);
  node.pods->clear();
  EXPECT_EQ(To(node, policy), State::kPodRestart);
}

TEST(Restart, TheOldPodGoesAndTheNewOneComes) {
  NodeInput node = Node(State::kPodRestart, true);
  Step step = Next(node);
  ASSERT_TRUE(step.change.restart.has_value());
  EXPECT_EQ(step.change.restart->uid, "u");
  EXPECT_EQ(step.change.to, State::kPodRestart);
  node.driver->facts.deleting = true;
  EXPECT_TRUE(Next(node).change.empty());
  node.driver.reset();
  EXPECT_TRUE(Next(node).change.empty());
  node.driver = Driver(true);
  node.driver->judged = false;
  EXPECT_TRUE(Next(node).change.empty());
  node.driver = Driver(false, false);
  node.driver->facts.trouble = "d: ErrImagePull";
  step = Next(node);
  EXPECT_TRUE(step.change.empty());
  EXPECT_THAT(step.status.reason, HasSubstr("ErrImagePull"));
  EXPECT_EQ(step.status.deadline, kNow + kRestartLimit);
  EXPECT_EQ(To(node, {}, kRestartLimit), State::kFailed);
  node.broken = "DriverNotInstalled: compile driver 1 for kernel 2: nv.c:3:1: error: no x";
  EXPECT_THAT(Next(node).status.reason, HasSubstr("ErrImagePull"));
  node.driver->facts.trouble = "";
  EXPECT_THAT(Next(node, {}, kRestartLimit).change.reason,
              HasSubstr("DriverNotInstalled: compile driver 1 for kernel 2: nv.c:3:1: error: no x"))
      << "a container that can't install the driver stays and does not fail";
  node.driver->facts.trouble = "d: ErrImagePull";
  node.driver->facts.given_up = true;
  step = Next(node);
  EXPECT_EQ(step.change.to, State::kFailed);
  EXPECT_THAT(step.change.reason, HasSubstr("does not start: d: ErrImagePull"));
  node.driver = Driver(false);
  step = Next(node);
  EXPECT_EQ(step.change.to, State::kValidation);
  EXPECT_THAT(step.change.annotations,
              Contains(Pair(names::kUpgradeValidationSince, "1700000000")));
}

// Somebody has corrected what kept it from starting, and removed the label: the pod's count of
// restarts is still what it was.
TEST(Restart, APodThatWasGivenUpBeforeGetsAnotherChance) {
  NodeInput node = Node(State::kPodRestart, false, false);
  node.driver->facts.given_up = true;
  node.driver->facts.created = Rfc3339(kNow - seconds(1));
  const Step step = Next(node);
  EXPECT_EQ(step.change.to, State::kPodRestart);
  ASSERT_TRUE(step.change.restart.has_value());
  EXPECT_EQ(step.change.restart->uid, "u");
  node.driver->facts.deleting = true;
  EXPECT_TRUE(Next(node).change.empty());
  node.driver->facts.deleting = false;
  node.driver->facts.created = Rfc3339(kNow);
  EXPECT_EQ(To(node), State::kFailed) << "it is a new one";
}

TEST(Restart, AnOperatorThatWasAwayTriesItFirst) {
  NodeInput node = Node(State::kPodRestart, true);
  node.seen_since = kNow + seconds(5000);
  const Step step = Next(node, {}, seconds(5000));
  EXPECT_EQ(step.change.to, State::kPodRestart);
  EXPECT_TRUE(step.change.restart.has_value());
  EXPECT_EQ(To(node, {}, seconds(5060)), State::kFailed);
}

// A node that was not emptied, because its driver stays loaded: a second change exchanges it after
// all.
TEST(Restart, AnotherDriverMeanwhileEmptiesTheNodeFirst) {
  NodeInput node = Node(State::kRequired, true);
  node.driver->same_driver = true;
  node.driver->facts.digest = "7";
  node = After(node, Start(node, kNow));
  ASSERT_EQ(node.state, State::kPodRestart);
  EXPECT_TRUE(Next(node).change.restart.has_value());

  NodeInput changed = node;
  changed.driver->same_driver = false;
  EXPECT_EQ(To(changed), State::kWaitForJobs);
  EXPECT_FALSE(Next(changed).change.restart.has_value());
  // Or the pod that came is one of another driver.
  NodeInput exchanged = node;
  exchanged.driver = Driver(false, false);
  exchanged.driver->facts.digest = "8";
  EXPECT_EQ(To(exchanged), State::kWaitForJobs);

  node.driver = Driver(false);
  node.driver->facts.digest = "7";
  node = After(node, Next(node).change);
  ASSERT_EQ(node.state, State::kValidation);
  node.driver->outdated = true;
  EXPECT_EQ(To(node), State::kWaitForJobs);
  node.driver->same_driver = true;
  node = After(node, Next(node).change);
  EXPECT_EQ(node.state, State::kPodRestart) << "its restart still leaves the driver loaded";
  node.driver->same_driver = false;
  node = After(node, Next(node).change);
  ASSERT_EQ(node.state, State::kWaitForJobs);
  EXPECT_TRUE(CordonedByUs(node));
  // Once it is empty any driver may come.
  node = After(node, Next(node).change);
  node.pods.emplace();
  node = After(node, Next(node).change);
  ASSERT_EQ(node.state, State::kPodRestart);
  EXPECT_TRUE(Next(node).change.restart.has_value());
}

TEST(Restart, ADriverThatWaitsForAnEmptyNodeMayLoad) {
  NodeInput node = Node(State::kPodRestart, true);
  node.marks[names::kUpgradeSafeLoad] = "1";
  EXPECT_THAT(Next(node).change.annotations, testing::IsEmpty()) << "the old one must go first";
  node.driver = Driver(false, false);
  const Change change = Next(node).change;
  EXPECT_EQ(change.to, State::kPodRestart);
  EXPECT_THAT(change.annotations, ElementsAre(Pair(names::kUpgradeSafeLoad, std::nullopt)));
}

TEST(Validation, WhatItTakes) {
  NodeInput node = Node(State::kValidation);
  const auto waits = [&](const char* reason) {
    const Step step = Next(node, {}, seconds(599));
    EXPECT_TRUE(step.change.empty()) << reason;
    EXPECT_THAT(step.status.reason, HasSubstr(reason));
    EXPECT_EQ(step.status.deadline, kNow + kValidationLimit);
    EXPECT_EQ(To(node, {}, seconds(600)), State::kFailed) << reason;
  };
  node.unseen = "being listed";
  const Step unseen = Next(node, {}, seconds(600));
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
  waits("not ready any more");
  node.driver->facts.ready = true;
  EXPECT_EQ(To(node), State::kUncordon);
  EXPECT_EQ(Next(node).change.cordon, Cordon::kLeave);
  node.driver->outdated = true;
  EXPECT_EQ(To(node), State::kPodRestart) << "the node is empty already";
  node.driver->outdated = false;
  node.driver->facts.ready = false;
  node.driver->facts.given_up = true;
  EXPECT_EQ(To(node), State::kFailed);
}

TEST(Validation, AnOperatorThatWasAwayLooksForAMinute) {
  NodeInput node = Node(State::kValidation);
  node.pods.emplace();
  node.seen_since = kNow + seconds(5000);
  EXPECT_EQ(To(node, {}, seconds(5059)), State::kValidation);
  EXPECT_EQ(To(node, {}, seconds(5060)), State::kFailed);
}

TEST(End, UncordonsOnlyWhatWasCordonedByUs) {
  NodeInput node = Node(State::kUncordon);
  const Change change = Next(node).change;
  EXPECT_EQ(change.to, State::kDone);
  EXPECT_EQ(change.cordon, Cordon::kUncordon);
  EXPECT_TRUE(PatchOf(change)["spec"]["unschedulable"].is_null());
  EXPECT_THAT(change.annotations, ElementsAre(Pair(names::kUpgradeCordon, std::nullopt),
                                              Pair(names::kUpgradeStep, std::nullopt)));
  node.cordoned = false;
  EXPECT_EQ(Next(node).change.cordon, Cordon::kLeave);
  NodeInput theirs = Node(State::kValidation);
  theirs.pods = {UserPod("a", {.ready = true})};
  theirs.marks.erase(names::kUpgradeCordon);
  theirs.marks[names::kUpgradeWasCordoned] = "true";
  EXPECT_EQ(To(theirs), State::kDone);
  EXPECT_EQ(Next(theirs).change.cordon, Cordon::kLeave);
  EXPECT_THAT(Next(theirs).change.annotations,
              Contains(Pair(names::kUpgradeWasCordoned, std::nullopt)));
}

// op#2549: a failed upgrade became a done one by itself.
TEST(Failed, Op2549_StaysUntilSomebodyActs) {
  NodeInput node = Node(State::kFailed);
  node.marks[names::kUpgradeStep] = FormatRecord({State::kFailed, kNow, "it broke"});
  Step step = Next(node, {}, seconds(1'000'000));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.status.reason, "it broke");
  EXPECT_THAT(step.status.next, HasSubstr("remove the label"));
  EXPECT_EQ(step.status.since, kNow);
  node.marks[names::kUpgradeRequested] = "true";
  EXPECT_EQ(To(node), State::kRequired);
  // Its label was removed: all of it again, and the cordon is still known to be ours.
  node.marks.erase(names::kUpgradeRequested);
  node.state = State::kUnknown;
  EXPECT_EQ(To(node), State::kRequired);
  EXPECT_EQ(Next(node).change.cordon, Cordon::kLeave);
}

TEST(Marks, AStateWithoutATimeGetsOne) {
  NodeInput node = Node(State::kFailed);
  node.marks[names::kUpgradeStep] = FormatRecord({State::kDrain, kNow, ""});
  const Step step = Next(node, {}, seconds(7));
  EXPECT_EQ(step.change.to, State::kFailed);
  EXPECT_THAT(step.change.annotations,
              ElementsAre(Pair(names::kUpgradeStep, "upgrade-failed 1700000007")));
  EXPECT_THAT(step.status.reason, HasSubstr("not known why"));
}

TEST(Abandon, LeavesNothing) {
  NodeInput node = Node(State::kDrain);
  node.marks[names::kUpgradeEnabled] = "true";
  node.marks[names::kUpgradeRequested] = "true";
  const Change change = Abandon(node);
  const Json patch = PatchOf(change);
  EXPECT_TRUE(patch["metadata"]["labels"][names::kDriverUpgradeState].is_null());
  EXPECT_TRUE(patch["spec"]["unschedulable"].is_null());
  EXPECT_EQ(change.cordon, Cordon::kUncordon);
  for (const char* key : {names::kUpgradeEnabled, names::kUpgradeCordon, names::kUpgradeStep}) {
    EXPECT_THAT(change.annotations, Contains(Pair(key, std::nullopt)));
  }
  EXPECT_THAT(change.annotations, Not(Contains(Key(names::kUpgradeRequested))));
  node.marks[names::kUpgradeWasCordoned] = "true";
  EXPECT_EQ(Abandon(node).cordon, Cordon::kLeave) << "it was cordoned before";
  NodeInput idle;
  idle.cordoned = true;
  EXPECT_TRUE(Abandon(idle).empty());
}

TEST(PodsFor, EachStateItsOwn) {
  const policy::UpgradePolicy policy{.jobs_selector = "job", .drain = true};
  const auto pods = [&](State state) { return PodsFor(Node(state), policy, "ns"); };
  EXPECT_EQ(pods(State::kWaitForJobs), (PodQuery{.labels = "job"}));
  EXPECT_EQ(pods(State::kPodDeletion), (PodQuery{.node = "n"}));
  EXPECT_EQ(pods(State::kDrain),
            (PodQuery{.labels = "nvidia.com/gpu-driver-upgrade-drain.skip!=true", .node = "n"}));
  EXPECT_EQ(pods(State::kValidation),
            (PodQuery{.space = "ns", .labels = "app=nvidia-operator-validator"}));
  for (const State state : {State::kUnknown, State::kDone, State::kRequired, State::kCordon,
                            State::kPodRestart, State::kUncordon, State::kFailed}) {
    EXPECT_EQ(pods(state), std::nullopt);
  }
  EXPECT_EQ(PodsFor(Node(State::kWaitForJobs), {}, "ns"), std::nullopt);
  EXPECT_EQ(PodsFor(Node(State::kDrain), {}, "ns"), std::nullopt);
  EXPECT_EQ(PodsFor(Node(State::kDrain), {.drain = true, .drain_selector = "a=b"}, "ns")->labels,
            "a=b,nvidia.com/gpu-driver-upgrade-drain.skip!=true");
}

}  // namespace
}  // namespace gantry::gpu_operator::upgrade
