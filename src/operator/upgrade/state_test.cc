// SPDX-License-Identifier: Apache-2.0

#include "operator/upgrade/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "operator/upgrade/state_for_tests.h"
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

TEST(End, UncordonsOnlyWhatWasCordonedByUs) {
  NodeInput node = NodeIn(State::kUncordon);
  const Change change = NextStep(node).change;
  EXPECT_EQ(change.to, State::kDone);
  EXPECT_EQ(change.cordon, Change::Cordon::kUncordon);
  EXPECT_TRUE(PatchOf(change)["spec"]["unschedulable"].is_null());
  EXPECT_THAT(change.annotations, ElementsAre(Pair(names::kUpgradeCordon, std::nullopt),
                                              Pair(names::kUpgradeStep, std::nullopt)));
  node.cordoned = false;
  EXPECT_EQ(NextStep(node).change.cordon, Change::Cordon::kLeave);
  NodeInput theirs = NodeIn(State::kValidation);
  theirs.pods = {UserPod("a", {.ready = true})};
  theirs.marks.erase(names::kUpgradeCordon);
  theirs.marks[names::kUpgradeWasCordoned] = "true";
  EXPECT_EQ(NextState(theirs), State::kDone);
  EXPECT_EQ(NextStep(theirs).change.cordon, Change::Cordon::kLeave);
  EXPECT_THAT(NextStep(theirs).change.annotations,
              Contains(Pair(names::kUpgradeWasCordoned, std::nullopt)));
}

// op#2549: a failed upgrade became a done one by itself.
TEST(Failed, Op2549_StaysUntilSomebodyActs) {
  NodeInput node = NodeIn(State::kFailed);
  node.marks[names::kUpgradeStep] = FormatRecord({State::kFailed, kUpgradeNow, "it broke"});
  Step step = NextStep(node, {}, seconds(1'000'000));
  EXPECT_TRUE(step.change.empty());
  EXPECT_EQ(step.status.reason, "it broke");
  EXPECT_THAT(step.status.next, HasSubstr("remove the label"));
  EXPECT_EQ(step.status.since, kUpgradeNow);
  node.marks[names::kUpgradeRequested] = "true";
  EXPECT_EQ(NextState(node), State::kRequired);
  // Its label was removed: all of it again, and the cordon is still known to be ours.
  node.marks.erase(names::kUpgradeRequested);
  node.state = State::kUnknown;
  EXPECT_EQ(NextState(node), State::kRequired);
  EXPECT_EQ(NextStep(node).change.cordon, Change::Cordon::kLeave);
}

TEST(Marks, AStateWithoutATimeGetsOne) {
  NodeInput node = NodeIn(State::kFailed);
  node.marks[names::kUpgradeStep] = FormatRecord({State::kDrain, kUpgradeNow, ""});
  const Step step = NextStep(node, {}, seconds(7));
  EXPECT_EQ(step.change.to, State::kFailed);
  EXPECT_THAT(step.change.annotations,
              ElementsAre(Pair(names::kUpgradeStep, "upgrade-failed 1700000007")));
  EXPECT_THAT(step.status.reason, HasSubstr("not known why"));
}

TEST(Abandon, LeavesNothing) {
  NodeInput node = NodeIn(State::kDrain);
  node.marks[names::kUpgradeEnabled] = "true";
  node.marks[names::kUpgradeRequested] = "true";
  const Change change = Abandon(node);
  const Json patch = PatchOf(change);
  EXPECT_TRUE(patch["metadata"]["labels"][names::kDriverUpgradeState].is_null());
  EXPECT_TRUE(patch["spec"]["unschedulable"].is_null());
  EXPECT_EQ(change.cordon, Change::Cordon::kUncordon);
  for (const char* key : {names::kUpgradeEnabled, names::kUpgradeCordon, names::kUpgradeStep}) {
    EXPECT_THAT(change.annotations, Contains(Pair(key, std::nullopt)));
  }
  EXPECT_THAT(change.annotations, Not(Contains(Key(names::kUpgradeRequested))));
  node.marks[names::kUpgradeWasCordoned] = "true";
  EXPECT_EQ(Abandon(node).cordon, Change::Cordon::kLeave) << "it was cordoned before";
  NodeInput idle;
  idle.cordoned = true;
  EXPECT_TRUE(Abandon(idle).empty());
}

TEST(PodsFor, EachStateItsOwn) {
  const policy::UpgradePolicy policy{.jobs_selector = "job", .drain = true};
  const auto pods = [&](State state) { return PodsFor(NodeIn(state), policy, "ns"); };
  EXPECT_EQ(pods(State::kWaitForJobs), (PodQuery{.labels = "job"}));
  EXPECT_EQ(pods(State::kPodDeletion), (PodQuery{.node = "n"}));
  EXPECT_EQ(pods(State::kDrain),
            (PodQuery{.labels = "nvidia.com/gpu-driver-upgrade-drain.skip!=true", .node = "n"}));
  EXPECT_EQ(pods(State::kValidation),
            (PodQuery{.ns = "ns", .labels = "app=nvidia-operator-validator"}));
  for (const State state : {State::kUnknown, State::kDone, State::kRequired, State::kCordon,
                            State::kPodRestart, State::kUncordon, State::kFailed}) {
    EXPECT_EQ(pods(state), std::nullopt);
  }
  EXPECT_EQ(PodsFor(NodeIn(State::kWaitForJobs), {}, "ns"), std::nullopt);
  EXPECT_EQ(PodsFor(NodeIn(State::kDrain), {}, "ns"), std::nullopt);
  EXPECT_EQ(PodsFor(NodeIn(State::kDrain), {.drain = true, .drain_selector = "a=b"}, "ns")->labels,
            "a=b,nvidia.com/gpu-driver-upgrade-drain.skip!=true");
}

}  // namespace
}  // namespace gantry::gpu_operator::upgrade
