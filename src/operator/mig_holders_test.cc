// SPDX-License-Identifier: Apache-2.0

#include "operator/mig_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using policy::HolderAction;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using upgrade::NamedPod;

const WallTime kStart(seconds(1'700'000'000));  // 2023-11-14T22:13:20Z

class DecideHoldersTest : public testing::Test {
 protected:
  DecideHoldersTest() {
    node_.holders = {.layout = "all-1g.10gb", .pods = {"users/train"}, .withdrawn = true};
    node_.seen_since = kStart;
    Use(HolderAction::kEvict);
  }
  void Use(HolderAction action, seconds timeout = seconds(60)) {
    node_.rule.spec = {action, {false, false, timeout}};
  }
  NamedPod& Pod(const char* name = "train") {
    PodFactsOf(name).managed = true;
    return node_.pods.back();
  }
  upgrade::PodFacts& PodFactsOf(const char* name) {
    node_.pods.push_back({kube::Key{"users", name}, {.uid = std::string(name) + "-uid"}});
    return node_.pods.back().facts;
  }
  // Decides, and stores the decision as the Node has it.
  HoldersDecision At(seconds after) {
    HoldersDecision decision = DecideHolders(node_, kStart + after);
    node_.before = policy::ParseMigHoldersStep(policy::FormatMigHoldersStep(decision.step));
    EXPECT_EQ(node_.before, decision.step);
    if (!decision.remove.empty()) {
      node_.eviction = upgrade::Eviction{.at = kStart + after, .refused = ""};
    }
    return decision;
  }
  std::string MessageAt(seconds after) { return At(after).step.message; }

  HeldNode node_;
};

TEST_F(DecideHoldersTest, ByDefaultTheChangeFailsAndIsMadeWhenTheLastHasEnded) {
  Use(HolderAction::kFail);
  node_.holders.processes = {"process 7 (python3)"};
  const HoldersDecision decision = At(seconds(0));
  EXPECT_EQ(decision.step.message,
            "all-1g.10gb: in use since 2023-11-14T22:13:20Z by pod users/train, process 7 "
            "(python3) outside of pods, which is never ended; the layout changes when the last of "
            "them has ended");
  EXPECT_FALSE(decision.step.waits());
  EXPECT_EQ(decision.requeue_at, std::nullopt);
  EXPECT_THAT(decision.remove, IsEmpty());
  EXPECT_EQ(MessageAt(seconds(500)), decision.step.message);
}

TEST_F(DecideHoldersTest, AWaitEndsAtItsDeadline) {
  Use(HolderAction::kWait);
  const HoldersDecision decision = At(seconds(0));
  EXPECT_TRUE(decision.step.waits());
  EXPECT_EQ(decision.requeue_at, kStart + seconds(60));
  EXPECT_THAT(decision.step.message, EndsWith("by pod users/train; the change waits for them, and "
                                              "the change is given up at 2023-11-14T22:14:20Z"));
  EXPECT_TRUE(At(seconds(59)).step.waits());
  const HoldersDecision over = At(seconds(60));
  EXPECT_FALSE(over.step.waits());
  EXPECT_EQ(over.requeue_at, std::nullopt);
  EXPECT_THAT(over.step.message,
              EndsWith("by pod users/train; given up at 2023-11-14T22:14:20Z after 60 s; the "
                       "layout changes when the last of them has ended"));
  EXPECT_EQ(MessageAt(seconds(600)), over.step.message);
}

TEST_F(DecideHoldersTest, WithoutALimitItWaitsForEver) {
  Use(HolderAction::kWait, seconds(0));
  EXPECT_THAT(MessageAt(seconds(0)), EndsWith("without a time limit"));
  EXPECT_TRUE(At(std::chrono::hours(10'000)).step.waits());
}

TEST_F(DecideHoldersTest, PodsAreEvictedOnceTheGpusAreWithdrawn) {
  Pod();
  node_.holders.withdrawn = false;
  EXPECT_THAT(At(seconds(0)).remove, IsEmpty());
  EXPECT_THAT(node_.before->message, HasSubstr("pods will be evicted"));
  node_.holders.withdrawn = true;
  const HoldersDecision decision = At(seconds(1));
  EXPECT_THAT(decision.remove, ElementsAre(upgrade::PodRef{{"users", "train"}, "train-uid"}));
  EXPECT_THAT(decision.step.message, HasSubstr("pods are evicted"));
  EXPECT_EQ(decision.requeue_at, kStart + seconds(1) + upgrade::kEvictAgain);
  EXPECT_THAT(At(seconds(3)).remove, IsEmpty());
  EXPECT_THAT(At(seconds(6)).remove, Not(IsEmpty()));
}

TEST_F(DecideHoldersTest, ARefusalIsNamedAndStaysNamedWhenTheTimeIsOver) {
  Pod();
  At(seconds(0));
  node_.eviction->refused = "evict Pod users/train: a disruption budget";
  EXPECT_THAT(MessageAt(seconds(1)), HasSubstr("(evict Pod users/train: a disruption budget)"));
  const HoldersDecision over = At(seconds(61));
  EXPECT_TRUE(over.step.given_up);
  EXPECT_THAT(over.remove, IsEmpty());
  node_.eviction.reset();
  EXPECT_THAT(MessageAt(seconds(70)),
              AllOf(HasSubstr("a disruption budget"), HasSubstr("given up")));
}

TEST_F(DecideHoldersTest, APodThatDoesNotEndIsNamedAndNotEvictedAgain) {
  Pod().facts.deleting = true;
  const HoldersDecision decision = At(seconds(0));
  EXPECT_THAT(decision.remove, IsEmpty());
  EXPECT_THAT(decision.step.message, HasSubstr("pod users/train, which is being deleted"));
  EXPECT_EQ(decision.requeue_at, kStart + seconds(60));
  EXPECT_TRUE(At(seconds(60)).step.given_up);
}

TEST_F(DecideHoldersTest, APodWithoutAControllerIsKeptUnlessForced) {
  PodFactsOf("train");
  const HoldersDecision decision = At(seconds(0));
  EXPECT_THAT(decision.remove, IsEmpty());
  EXPECT_THAT(decision.step.message,
              HasSubstr("pod users/train has no controller to make it anew, and gpuHolders.force "
                        "is not set"));
  node_.rule.spec.removal.force = true;
  EXPECT_THAT(At(seconds(1)).remove, Not(IsEmpty()));
}

TEST_F(DecideHoldersTest, AnEmptyDirIsKeptUnlessItMayBeLost) {
  Pod().facts.has_empty_dir = true;
  EXPECT_THAT(At(seconds(0)).remove, IsEmpty());
  EXPECT_THAT(node_.before->message, HasSubstr("gpuHolders.deleteEmptyDir is not set"));
}

TEST_F(DecideHoldersTest, PodsOfDaemonSetsAndOfFilesAreKeptWhateverIsForced) {
  node_.holders.pods = {"users/agent", "users/static"};
  node_.rule.spec = {HolderAction::kDelete, {true, true, seconds(60)}};
  Pod("agent").facts.daemon_set = "agents";
  Pod("static").facts.mirror = true;
  const HoldersDecision decision = At(seconds(0));
  EXPECT_THAT(decision.remove, IsEmpty());
  EXPECT_THAT(decision.step.message,
              AllOf(HasSubstr("pod users/agent is of DaemonSet agents, which would make it anew"),
                    HasSubstr("pod users/static is of a file on the node")));
}

TEST_F(DecideHoldersTest, ProcessesOutsideOfPodsOnlyEndTheTime) {
  node_.holders = {.layout = "all-1g.10gb", .processes = {"process 7 (x)"}, .withdrawn = true};
  EXPECT_THAT(At(seconds(0)).remove, IsEmpty());
  EXPECT_THAT(MessageAt(seconds(60)),
              AllOf(HasSubstr("process 7 (x) outside of pods"), HasSubstr("given up")));
}

TEST_F(DecideHoldersTest, AnotherLayoutOrAnotherRuleBeginsAnew) {
  At(seconds(0));
  EXPECT_TRUE(At(seconds(60)).step.given_up);
  Use(HolderAction::kEvict, seconds(100));
  HoldersDecision decision = At(seconds(70));
  EXPECT_FALSE(decision.step.given_up);
  EXPECT_EQ(decision.step.since, kStart + seconds(70));
  EXPECT_EQ(decision.step.held_since, kStart) << "the same holders of the same layout";
  node_.holders.layout = "all-disabled";
  decision = At(seconds(80));
  EXPECT_EQ(decision.step.held_since, kStart + seconds(80));
}

TEST_F(DecideHoldersTest, ATimeThatPassedWithoutAnOperatorLeavesSomeTimeToAct) {
  Pod();
  At(seconds(0));
  node_.eviction.reset();
  node_.seen_since = kStart + seconds(1000);
  const HoldersDecision decision = At(seconds(1000));
  EXPECT_FALSE(decision.step.given_up);
  EXPECT_THAT(decision.remove, Not(IsEmpty()));
  EXPECT_TRUE(At(seconds(1060)).step.given_up);
}

TEST_F(DecideHoldersTest, AWrongAnnotationIsNamed) {
  node_.rule.mistake = "annotation x.action: \"drain\" is wrong";
  EXPECT_THAT(MessageAt(seconds(0)),
              EndsWith("; annotation x.action: \"drain\" is wrong: the policy's value counts"));
}

TEST(HeldCondition, SaysSinceWhenAndWhy) {
  policy::MigHoldersStep step = {.layout = "a",
                                 .spec = {HolderAction::kWait, {}},
                                 .held_since = kStart,
                                 .since = kStart,
                                 .message = "a: in use"};
  const auto reason = [&] {
    return TextAt(ListAt(HeldCondition("n", step), "status.conditions")[0], "reason");
  };
  EXPECT_EQ(HeldCondition("n", step), Json::parse(R"({
      "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"conditions": [
      {"type": "MIGChangeHeld", "status": "True", "reason": "Waiting", "message": "a: in use",
       "lastTransitionTime": "2023-11-14T22:13:20Z"}]}})"));
  step.given_up = true;
  EXPECT_EQ(reason(), "GivenUp");
  step = {.spec = {HolderAction::kFail, {}}};
  EXPECT_EQ(reason(), "InUse");
}

class HeldNodeFacts : public testing::Test {
 protected:
  std::string_view State(HolderAction of_policy) {
    return StateWithHolders(node_, {.layout = "all-1g.10gb"}, {of_policy, {}});
  }
  HeldNodeFacts() { node_.labels = PackLabels({{names::kMigConfig, "all-1g.10gb"}}); }
  NodeFacts node_;
};

TEST_F(HeldNodeFacts, HoldersOfAnEarlierLayoutAreNone) {
  const std::string published = policy::FormatMigHolders({.layout = "all-1g.10gb"});
  EXPECT_TRUE(HoldersOf(node_, published).has_value());
  EXPECT_FALSE(HoldersOf(node_, "").has_value());
  node_.labels = PackLabels({{names::kMigConfig, "all-disabled"}});
  EXPECT_FALSE(HoldersOf(node_, published).has_value());
  node_.labels.clear();
  EXPECT_FALSE(HoldersOf(node_, published).has_value());
}

TEST_F(HeldNodeFacts, TheStateIsPendingWhileTheChangeWaits) {
  EXPECT_EQ(State(HolderAction::kFail), "failed");
  EXPECT_EQ(State(HolderAction::kWait), "pending");
  node_.mig_gpu_holders = "evict";
  EXPECT_EQ(State(HolderAction::kFail), "pending");
  node_.mig_gpu_holders = "nonsense";
  EXPECT_EQ(State(HolderAction::kFail), "failed");
}

TEST_F(HeldNodeFacts, TheStateIsFailedOnceItIsGivenUp) {
  policy::MigHoldersStep step = {.layout = "all-1g.10gb",
                                 .spec = {HolderAction::kWait, {}},
                                 .held_since = kStart,
                                 .since = kStart,
                                 .given_up = true};
  node_.mig_holders_step = policy::FormatMigHoldersStep(step);
  EXPECT_EQ(State(HolderAction::kWait), "failed");
  EXPECT_EQ(State(HolderAction::kEvict), "pending") << "another rule begins anew";
  step.given_up = false;
  node_.mig_holders_step = policy::FormatMigHoldersStep(step);
  EXPECT_EQ(State(HolderAction::kWait), "pending");
}

}  // namespace
}  // namespace gantry::gpu_operator
