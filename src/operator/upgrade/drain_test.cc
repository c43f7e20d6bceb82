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
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

TEST(Jobs, AreWaitedFor) {
  EXPECT_EQ(NextState(NodeIn(State::kWaitForJobs)), State::kPodDeletion);
  policy::UpgradePolicy policy{.jobs_selector = "a=b"};
  NodeInput node = NodeIn(State::kWaitForJobs);
  node.unseen = "being listed";
  EXPECT_EQ(NextStep(node, policy).status.reason, "being listed");
  node.pods = {UserPod("a"), UserPod("b", {.finished = true})};
  Step step = NextStep(node, policy, seconds(1'000'000));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.requeue_at, std::nullopt);
  EXPECT_THAT(step.status.reason, HasSubstr("1 pods"));
  policy.jobs_timeout = seconds(60);
  step = NextStep(node, policy, seconds(59));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.requeue_at, kUpgradeNow + seconds(60));
  EXPECT_EQ(step.status.deadline, kUpgradeNow + seconds(60));
  EXPECT_EQ(NextState(node, policy, seconds(60)), State::kPodDeletion);
  // NVIDIA's annotation says since when, if it is there.
  node.marks[names::kUpgradeJobsSince] = std::to_string(kUpgradeStart + 100);
  EXPECT_TRUE(NextStep(node, policy, seconds(159)).change.empty());
  const Change on = NextStep(node, policy, seconds(160)).change;
  EXPECT_EQ(on.to, State::kPodDeletion);
  EXPECT_THAT(on.annotations, Contains(Pair(names::kUpgradeJobsSince, std::nullopt)));
  node.pods = {UserPod("b", {.finished = true})};
  EXPECT_EQ(NextState(node, policy), State::kPodDeletion);
}

TEST(Jobs, TheirTimeIsWrittenWhenItCounts) {
  policy::UpgradePolicy policy{.jobs_selector = "a=b", .jobs_timeout = seconds(60)};
  EXPECT_THAT(NextStep(NodeIn(State::kCordon), policy).change.annotations,
              Contains(Pair(names::kUpgradeJobsSince, "1700000000")));
  policy.jobs_timeout = seconds(0);
  EXPECT_THAT(NextStep(NodeIn(State::kCordon), policy).change.annotations,
              Not(Contains(Key(names::kUpgradeJobsSince))));
}

TEST(PodDeletion, ConcernsPodsWithGpus) {
  NodeInput node = NodeIn(State::kPodDeletion);
  node.unseen = "being listed";
  EXPECT_TRUE(NextStep(node).change.empty());
  PodFacts finished = GpuPod();
  finished.finished = true;
  PodFacts plugin = GpuPod();
  plugin.daemon_set = "d";
  PodFacts mirror = GpuPod();
  mirror.mirror = true;
  node.pods = {UserPod("web"), UserPod("f", finished), UserPod("p", plugin), UserPod("m", mirror)};
  EXPECT_EQ(NextState(node), State::kPodRestart);
  PodFacts ending = GpuPod();
  ending.deleting = true;
  node.pods->push_back(UserPod("train", GpuPod()));
  node.pods->push_back(UserPod("ends", ending));
  const Step step = NextStep(node);
  EXPECT_EQ(step.change.to, State::kPodDeletion);
  ASSERT_EQ(step.change.evict.size(), 1U);
  EXPECT_EQ(step.change.evict[0].key.name, "train");
  EXPECT_EQ(step.change.evict[0].uid, "g");
  EXPECT_EQ(step.status.deadline, kUpgradeNow + seconds(300));
  EXPECT_EQ(step.requeue_at, kUpgradeNow + kEvictAgain);
}

TEST(PodDeletion, IsTriedAgainAndEndsInTime) {
  NodeInput node = NodeIn(State::kPodDeletion);
  node.pods = {UserPod("train", GpuPod())};
  node.eviction = Eviction{kUpgradeNow, "a budget forbids it"};
  Step step = NextStep(node, {}, seconds(4));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.requeue_at, kUpgradeNow + kEvictAgain);
  EXPECT_THAT(step.status.reason, HasSubstr("users/train (a budget forbids it)"));
  EXPECT_EQ(NextStep(node, {}, seconds(5)).change.evict.size(), 1U);
  step = NextStep(node, {}, seconds(300));
  EXPECT_EQ(step.change.to, State::kFailed);
  EXPECT_THAT(step.change.reason, HasSubstr("not empty after 300 s"));
  EXPECT_THAT(ParseRecord(*step.change.annotations.at(names::kUpgradeStep))->reason,
              HasSubstr("a budget forbids it"));
  policy::UpgradePolicy endless{.pod_deletion = {.timeout = seconds(0)}};
  EXPECT_EQ(NextState(node, endless, seconds(1'000'000)), State::kPodDeletion);
}

TEST(PodDeletion, TimeThatRanOutWhileNobodyWasHereLeavesAMinute) {
  NodeInput node = NodeIn(State::kPodDeletion);
  node.pods = {UserPod("train", GpuPod())};
  node.seen_since = kUpgradeNow + seconds(1000);
  Step step = NextStep(node, {}, seconds(1000));
  EXPECT_EQ(step.change.to, State::kPodDeletion);
  EXPECT_EQ(step.change.evict.size(), 1U);
  EXPECT_EQ(step.requeue_at, kUpgradeNow + seconds(1000) + kEvictAgain);
  EXPECT_EQ(step.status.deadline, kUpgradeNow + seconds(1000) + kLeastTime);
  EXPECT_EQ(NextState(node, {}, seconds(1060)), State::kFailed);
  const policy::UpgradePolicy quick{.pod_deletion = {.timeout = seconds(7)}};
  EXPECT_EQ(NextState(node, quick, seconds(1007)), State::kFailed);
}

// It has a finalizer, or its kubelet is dead: there is nothing to evict.
TEST(PodDeletion, APodThatDoesNotEndIsNotWaitedForForEver) {
  NodeInput node = NodeIn(State::kPodDeletion);
  node.pods = {UserPod("train", GpuPod())};
  node.pods->front().facts.deleting = true;
  Step step = NextStep(node, {}, seconds(299));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.requeue_at, kUpgradeNow + seconds(300));
  step = NextStep(node, {}, seconds(300));
  EXPECT_EQ(step.change.to, State::kFailed);
  EXPECT_THAT(step.change.reason, HasSubstr("users/train, which is being deleted"));
  EXPECT_EQ(NextState(node, {.drain = true}, seconds(300)), State::kDrain);
  node.state = State::kDrain;
  node.marks[names::kUpgradeStep] = FormatRecord({State::kDrain, kUpgradeNow, ""});
  EXPECT_EQ(NextState(node, {.drain = true}, seconds(300)), State::kFailed);
}

TEST(PodRemoval, ASelectorThatTheApiServerRefusesEndsInTime) {
  const policy::UpgradePolicy policy{
      .jobs_selector = "a b", .jobs_timeout = seconds(300), .drain = true};
  for (const auto& [state, next] : {std::pair(State::kWaitForJobs, State::kPodDeletion),
                                    std::pair(State::kDrain, State::kFailed)}) {
    NodeInput node = NodeIn(state);
    node.unseen = "unable to parse";
    EXPECT_TRUE(NextStep(node, policy, seconds(300)).change.empty()) << "it may yet be seen";
    node.refused = true;
    EXPECT_THAT(NextStep(node, policy, seconds(299)).status.reason, HasSubstr("unable to parse"));
    EXPECT_EQ(NextState(node, policy, seconds(299)), state);
    const Step step = NextStep(node, policy, seconds(300));
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
    NodeInput node = NodeIn(State::kPodDeletion);
    node.pods = {UserPod("train", facts)};
    const Step step = NextStep(node);
    EXPECT_EQ(step.change.to, State::kFailed);
    EXPECT_THAT(step.change.reason, HasSubstr("users/train"));
    EXPECT_EQ(NextState(node, {.drain = true}), State::kDrain);
    const policy::UpgradePolicy allowed{.pod_deletion = {.force = true, .delete_empty_dir = true}};
    EXPECT_EQ(NextStep(node, allowed).change.evict.size(), 1U);
    node.pods->front().facts.deleting = true;
    EXPECT_EQ(NextState(node), State::kPodDeletion) << "it goes already";
  }
}

TEST(Drain, ConcernsEveryPodAndFailsForGood) {
  EXPECT_EQ(NextState(NodeIn(State::kDrain)), State::kPodRestart) << "switched off meanwhile";
  const policy::UpgradePolicy policy{.drain = true, .drain_spec = {.timeout = seconds(10)}};
  NodeInput node = NodeIn(State::kDrain);
  node.pods = {UserPod("web", {.managed = true}), UserPod("f", {.finished = true})};
  EXPECT_EQ(NextStep(node, policy).change.evict.size(), 2U);
  node.eviction = Eviction{kUpgradeNow, ""};
  EXPECT_EQ(NextState(node, policy, seconds(10)), State::kFailed);
  node.pods = {UserPod("bare")};
  EXPECT_EQ(NextState(node, policy), State::kFailed);
  node.pods->clear();
  EXPECT_EQ(NextState(node, policy), State::kPodRestart);
}

}  // namespace
}  // namespace gantry::gpu_operator::upgrade
