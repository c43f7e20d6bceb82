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
  if (InProgress(state)) {
    node.cordoned = state != State::kCordon;
    node.marks[names::kUpgradeStep] = FormatRecord({state, kNow, ""});
    if (node.cordoned) {
      node.marks[names::kUpgradeCordon] = "true";
    }
  }
  return node;
}

NamedPod Pod(const char* name, PodFacts facts = {}) { return {{"users", name}, std::move(facts)}; }

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
  waits([](NodeInput& node) { node.driver->judged = false; }, "changed just now");
  waits([](NodeInput& node) { node.skip = true; }, "gpu-driver-upgrade.skip");
  waits([](NodeInput& node) { node.ready = false; }, "not Ready");
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

TEST(Jobs, AreWaitedFor) {
  EXPECT_EQ(To(Node(State::kWaitForJobs)), State::kPodDeletion);
  policy::UpgradePolicy policy{.jobs_selector = "a=b"};
  NodeInput node = Node(State::kWaitForJobs);
  node.unseen = "being listed";
  EXPECT_EQ(Next(node, policy).status.reason, "being listed");
  node.pods = {Pod("a"), Pod("b", {.finished = true})};
  Step step = Next(node, policy, seconds(1'000'000));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.look_again, std::nullopt);
  EXPECT_THAT(step.status.reason, HasSubstr("1 pods"));
  policy.jobs_timeout = seconds(60);
  step = Next(node, policy, seconds(59));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.look_again, kNow + seconds(60));
  EXPECT_EQ(step.status.deadline, kNow + seconds(60));
  EXPECT_EQ(To(node, policy, seconds(60)), State::kPodDeletion);
  // NVIDIA's annotation says since when, if it is there.
  node.marks[names::kUpgradeJobsSince] = std::to_string(kStart + 100);
  EXPECT_TRUE(Next(node, policy, seconds(159)).change.empty());
  const Change on = Next(node, policy, seconds(160)).change;
  EXPECT_EQ(on.to, State::kPodDeletion);
  EXPECT_THAT(on.annotations, Contains(Pair(names::kUpgradeJobsSince, std::nullopt)));
  node.pods = {Pod("b", {.finished = true})};
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
  node.pods = {Pod("web"), Pod("f", finished), Pod("p", plugin), Pod("m", mirror)};
  EXPECT_EQ(To(node), State::kPodRestart);
  PodFacts ending = GpuPod();
  ending.deleting = true;
  node.pods->push_back(Pod("train", GpuPod()));
  node.pods->push_back(Pod("ends", ending));
  const Step step = Next(node);
  EXPECT_EQ(step.change.to, State::kPodDeletion);
  ASSERT_EQ(step.change.evict.size(), 1U);
  EXPECT_EQ(step.change.evict[0].key.name, "train");
  EXPECT_EQ(step.change.evict[0].uid, "g");
  EXPECT_EQ(step.status.deadline, kNow + seconds(300));
  EXPECT_EQ(step.look_again, kNow + kEvictAgain);
}

TEST(PodDeletion, IsTriedAgainAndEndsInTime) {
  NodeInput node = Node(State::kPodDeletion);
  node.pods = {Pod("train", GpuPod())};
  node.eviction = Eviction{kNow, "a budget forbids it"};
  Step step = Next(node, {}, seconds(4));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.look_again, kNow + kEvictAgain);
  EXPECT_THAT(step.status.reason, HasSubstr("users/train (a budget forbids it)"));
  EXPECT_EQ(Next(node, {}, seconds(5)).change.evict.size(), 1U);
  step = Next(node, {}, seconds(300));
  EXPECT_EQ(step.change.to, State::kFailed);
  EXPECT_THAT(step.change.reason, HasSubstr("not empty after 300 s"));
  EXPECT_THAT(ParseRecord(*step.change.annotations.at(names::kUpgradeStep))->reason,
              HasSubstr("a budget forbids it"));
  policy::UpgradePolicy endless{.pod_deletion = {.timeout = seconds(0)}};
  EXPECT_EQ(To(node, endless, seconds(1'000'000)), State::kPodDeletion);
  // The time ran out while no operator was here: it has one more try.
  node.eviction.reset();
  step = Next(node, {}, seconds(1000));
  EXPECT_EQ(step.change.to, State::kPodDeletion);
  EXPECT_EQ(step.change.evict.size(), 1U);
  EXPECT_EQ(step.look_again, kNow + seconds(1000) + kEvictAgain);
}

TEST(PodDeletion, WhatMayNotBeDeletedFailsAtOnceOrIsLeftToTheDrain) {
  PodFacts bare = GpuPod();
  bare.managed = false;
  PodFacts scratch = GpuPod();
  scratch.has_empty_dir = true;
  for (const PodFacts& facts : {bare, scratch}) {
    NodeInput node = Node(State::kPodDeletion);
    node.pods = {Pod("train", facts)};
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
  node.pods = {Pod("web", {.managed = true}), Pod("f", {.finished = true})};
  EXPECT_EQ(Next(node, policy).change.evict.size(), 2U);
  node.eviction = Eviction{kNow, ""};
  EXPECT_EQ(To(node, policy, seconds(10)), State::kFailed);
  node.pods = {Pod("bare")};
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
  waits("being listed");
  node.pods.emplace();
  waits("no pod of the validator");
  node.pods = {Pod("a", {.ready = true}), Pod("b")};
  waits("the validator is not ready");
  node.pods = {Pod("a", {.deleting = true, .ready = true})};
  waits("the validator is not ready");
  node.pods = {Pod("a", {.ready = true})};
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
  theirs.pods = {Pod("a", {.ready = true})};
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
