// SPDX-License-Identifier: Apache-2.0

#include "operator/upgrade/roll_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const WallTime kRollOutNow{seconds(1'700'000'000)};

NodeInput Node(const std::string& name, State state) {
  NodeInput node;
  node.name = name;
  node.state = state;
  node.driver.emplace();
  node.driver->judged = true;
  node.driver->facts.ready = true;
  node.driver->outdated = state == State::kRequired;
  if (InProgress(state) || state == State::kRequired) {
    node.marks[names::kUpgradeStep] = FormatRecord({state, kRollOutNow, "why"});
  }
  node.cordoned = InProgress(state) && state != State::kCordon;
  return node;
}

std::vector<NodeInput> Nodes(const std::vector<State>& states) {
  std::vector<NodeInput> nodes;
  for (const State state : states) {
    nodes.push_back(Node(format("n{}", nodes.size()), state));
  }
  return nodes;
}

std::vector<std::string> Started(const std::vector<NodeInput>& nodes,
                                 const policy::UpgradePolicy& policy) {
  std::vector<std::string> started;
  for (const Change& change : RollOut(nodes, policy, kRollOutNow).changes) {
    if (change.from == State::kRequired && InProgress(change.to)) {
      started.push_back(change.node);
    }
  }
  return started;
}

constexpr State kPending = State::kRequired;

TEST(Budget, OneAtATimeIsTheDefault) {
  const auto nodes = Nodes({kPending, kPending, kPending, State::kDone});
  EXPECT_THAT(Started(nodes, {}), ElementsAre("n0"));
  EXPECT_TRUE(RollOut(nodes, {}, kRollOutNow).starts());
  const auto going = Nodes({State::kDrain, kPending, State::kDone, State::kDone});
  EXPECT_THAT(Started(going, {}), IsEmpty());
  EXPECT_FALSE(RollOut(going, {}, kRollOutNow).starts());
}

TEST(Budget, Counted) {
  struct Case {
    long long parallel;
    policy::NodeShare unavailable;
    std::vector<State> states;
    size_t started;
  };
  const std::vector<State> all(8, kPending);
  const std::vector<Case> cases = {
      {1, {100, true}, all, 1},
      {3, {100, true}, all, 3},
      {0, {100, true}, all, 8},
      {0, {25, true}, all, 2},
      {5, {1, true}, all, 1},
      {5, {3, false}, all, 3},
      {5, {0, false}, all, 0},
      {0, {30, false}, all, 8},
      {2, {100, true}, {State::kFailed, kPending, kPending}, 1},
      {1, {100, true}, {State::kFailed, kPending, kPending}, 0},
      {0, {1, false}, {State::kCordon, kPending, kPending}, 0},
      {0, {50, true}, {State::kUncordon, kPending, kPending, kPending}, 1},
  };
  for (const Case& test : cases) {
    const policy::UpgradePolicy policy{.max_parallel = test.parallel,
                                       .max_unavailable = test.unavailable};
    EXPECT_THAT(Started(Nodes(test.states), policy), SizeIs(test.started)) << &test - cases.data();
  }
}

TEST(Budget, NodesThatAreUnavailableAnywayTakePartOfIt) {
  auto nodes = Nodes({kPending, kPending, State::kDone, State::kDone});
  const policy::UpgradePolicy policy{.max_parallel = 0, .max_unavailable = {1, false}};
  nodes[2].cordoned = true;
  EXPECT_THAT(Started(nodes, policy), IsEmpty());
  EXPECT_THAT(RollOut(nodes, policy, kRollOutNow).nodes[0].reason,
              HasSubstr("1 of 4 nodes may be unavailable (maxUnavailable), now n2"));
  nodes[2].cordoned = false;
  nodes[3].ready = false;
  EXPECT_THAT(Started(nodes, policy), IsEmpty());
  nodes[3].driver.reset();
  nodes[3].state = State::kUnknown;
  EXPECT_THAT(Started(nodes, policy), ElementsAre("n0")) << "it has no driver";
}

TEST(Budget, ANodeThatIsCordonedAlreadyTakesNothingFromAnybody) {
  auto nodes = Nodes({kPending, kPending, State::kDrain});
  nodes[1].cordoned = true;
  EXPECT_THAT(Started(nodes, {}), ElementsAre("n1"));
  // It takes the slot if there is one.
  nodes[2] = Node("n2", State::kDone);
  EXPECT_THAT(Started(nodes, {.max_unavailable = {100, true}}), ElementsAre("n1"));
}

TEST(Budget, TheReasonNamesWhoHasIt) {
  const auto plan =
      RollOut(Nodes({State::kFailed, kPending}), {.max_unavailable = {100, true}}, kRollOutNow);
  EXPECT_THAT(plan.nodes[1].reason, HasSubstr("1 at once (maxParallelUpgrades), now n0 (failed)"));
  const auto many = Nodes(std::vector<State>(5, State::kFailed));
  auto with = many;
  with.push_back(Node("z", kPending));
  EXPECT_THAT(RollOut(with, {}, kRollOutNow).nodes.back().reason, HasSubstr("and 2 more"));
  // Those that come after the ones that start now.
  EXPECT_THAT(RollOut(Nodes({kPending, kPending}), {}, kRollOutNow).nodes[1].reason,
              HasSubstr("others start just now"));
}

TEST(RollOut, CountsAndShowsTheWorstFirst) {
  auto nodes = Nodes({State::kDone, kPending, State::kDrain, State::kFailed, State::kUnknown});
  nodes[4].driver.reset();
  const RollOutPlan plan =
      RollOut(nodes, {.max_parallel = 3, .max_unavailable = {100, true}}, kRollOutNow);
  EXPECT_EQ(
      plan.counts,
      (Counts{.total = 4, .done = 1, .pending = 1, .in_progress = 2, .failed = 1, .available = 1}));
  std::vector<std::string> names;
  std::ranges::transform(plan.nodes, std::back_inserter(names), &NodeStatus::name);
  EXPECT_THAT(names, ElementsAre("n3", "n2", "n1"));
}

// NVIDIA's count: without a limit as many as there are.
TEST(RollOut, MayStartMoreWhileNoneWaits) {
  const auto available = [](std::vector<State> states, long long parallel) {
    return RollOut(Nodes(states), {.max_parallel = parallel, .max_unavailable = {100, true}},
                   kRollOutNow)
        .counts.available;
  };
  EXPECT_EQ(available({State::kDone, State::kDone, State::kDone}, 2), 2);
  EXPECT_EQ(available({State::kDone, State::kDone, State::kDone}, 5), 3);
  EXPECT_EQ(available({State::kDone, State::kDone, State::kDone}, 0), 0);
  EXPECT_EQ(available({State::kDone, kPending, kPending}, 0), 2);
}

TEST(RollOut, LooksAgainAtTheEarliestTime) {
  auto nodes = Nodes({State::kValidation, State::kValidation});
  for (NodeInput& node : nodes) {
    node.pods.emplace();
  }
  nodes[1].marks[names::kUpgradeStep] =
      FormatRecord({State::kValidation, kRollOutNow - seconds(100), ""});
  EXPECT_EQ(RollOut(nodes, {}, kRollOutNow).requeue_at, kRollOutNow + seconds(500));
  EXPECT_EQ(RollOut(Nodes({State::kDone}), {}, kRollOutNow).requeue_at, std::nullopt);
}

TEST(PodsFor, FewNodesAtOnceThoseFirstThatAreAtItLongest) {
  std::vector<NodeInput> nodes;
  for (int i = 0; i < 40; ++i) {
    nodes.push_back(Node(format("n{}", i), State::kPodDeletion));
    nodes.back().marks[names::kUpgradeStep] =
        FormatRecord({State::kPodDeletion, kRollOutNow - seconds(i), ""});
  }
  nodes.push_back(Node("v", State::kValidation));
  const auto queries = PodsFor(nodes, {{"", policy::UpgradePolicy()}}, "ns");
  EXPECT_EQ(queries.size(), kNodesAtOnce + 1);
  EXPECT_TRUE(queries.contains({.node = "n39"}));
  EXPECT_FALSE(queries.contains({.node = "n0"}));
}

TEST(PodsFor, TheValidatorIsSeenAsLongAsANodeMayNeedIt) {
  const auto sees = [](State state) {
    return PodsFor({Node("a", State::kDone), Node("b", state)}, {{"", policy::UpgradePolicy()}},
                   "ns")
        .contains(ValidatorPods("ns"));
  };
  for (const State state : {State::kCordon, State::kPodRestart, State::kValidation}) {
    EXPECT_TRUE(sees(state)) << NameOf(state);
  }
  for (const State state : {State::kDone, State::kRequired, State::kFailed}) {
    EXPECT_FALSE(sees(state)) << NameOf(state);
  }
}

TEST(IsOn, OnlyWhereDriversAreDeployedForContainers) {
  const auto on = [](Json spec) {
    Json full = {{"driver",
                  {{"repository", "r"},
                   {"image", "i"},
                   {"version", "v"},
                   {"upgradePolicy", {{"autoUpgrade", true}}}}}};
    full.merge_patch(spec);
    return IsOn(*policy::Parse({{"spec", full}}));
  };
  EXPECT_TRUE(on(Json::object()));
  EXPECT_FALSE(on({{"driver", {{"upgradePolicy", {{"autoUpgrade", false}}}}}}));
  EXPECT_FALSE(on({{"driver", {{"enabled", false}}}}));
  EXPECT_FALSE(on({{"driver", {{"useNvidiaDriverCRD", true}}}}));
  EXPECT_FALSE(on({{"driver", {{"repository", ""}, {"image", ""}}}}));
  EXPECT_FALSE(on({{"sandboxWorkloads", {{"enabled", true}}}}));
}

TEST(Budget, EachOwnersNodesHaveTheirOwn) {
  std::vector<NodeInput> nodes = Nodes(std::vector<State>(6, kPending));
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].owner = i < 2 ? "a" : i < 4 ? "b" : "off";
  }
  nodes[5].owner = "";
  Policies policies = {
      {"a", policy::UpgradePolicy{.max_parallel = 1, .max_unavailable = {1, false}}},
      {"b", policy::UpgradePolicy{.max_parallel = 0, .max_unavailable = {100, true}}}};
  const auto started = [&] {
    std::vector<std::string> names;
    for (const Change& change : RollOutAll(nodes, policies, kRollOutNow).changes) {
      if (InProgress(change.to)) {
        names.push_back(change.node);
      }
    }
    return names;
  };
  EXPECT_THAT(started(), testing::UnorderedElementsAre("n0", "n2", "n3"));
  const RollOutPlan plan = RollOutAll(nodes, policies, kRollOutNow);
  EXPECT_EQ(plan.counts.total, 4) << "those of no policy are not counted";
  EXPECT_TRUE(plan.unfinished);
  // What was begun on them is taken back.
  EXPECT_THAT(plan.changes,
              testing::Contains(testing::AllOf(testing::Field(&Change::node, "n4"),
                                               testing::Field(&Change::to, State::kUnknown))));
  // A policy without a name is for all that have none.
  policies[""] = policy::UpgradePolicy{.max_parallel = 1, .max_unavailable = {1, false}};
  EXPECT_THAT(started(), testing::UnorderedElementsAre("n0", "n2", "n3", "n4"));
  for (NodeInput& node : nodes) {
    node.skip = true;
  }
  EXPECT_FALSE(RollOutAll(nodes, policies, kRollOutNow).unfinished) << "somebody switched them off";
}

TEST(Budget, ANodeThatIsTakenOutOfServiceGivesItsPartBack) {
  auto nodes = Nodes({State::kPodRestart, kPending});
  nodes[0].driver.reset();
  EXPECT_THAT(Started(nodes, {.max_unavailable = {1, false}}), IsEmpty());
  nodes[0].wanted = false;
  EXPECT_THAT(Started(nodes, {.max_unavailable = {1, false}}), ElementsAre("n1"));
  EXPECT_EQ(RollOut(nodes, {}, kRollOutNow).counts.total, 1);
  nodes[0].driver.emplace();
  EXPECT_THAT(Started(nodes, {.max_unavailable = {1, false}}), IsEmpty()) << "its pod still ends";
}

TEST(RollOutAll, WhereNobodyKnowsHowNothingMoves) {
  std::vector<NodeInput> nodes =
      Nodes({kPending, State::kUncordon, State::kFailed, State::kDone, kPending});
  for (NodeInput& node : nodes) {
    node.owner = "wrong";
  }
  nodes[4].owner = "other";
  const RollOutPlan plan = RollOutAll(
      nodes, {{"wrong", std::nullopt}, {"other", policy::UpgradePolicy{.max_parallel = 0}}},
      kRollOutNow);
  ASSERT_THAT(plan.changes, SizeIs(1));
  EXPECT_EQ(plan.changes[0].node, "n4");
  EXPECT_TRUE(plan.unfinished);
  EXPECT_EQ(plan.counts.total, 5);
  EXPECT_EQ(plan.counts.in_progress, 2);
  ASSERT_THAT(plan.nodes, SizeIs(4));
  EXPECT_THAT(plan.nodes[0].reason, HasSubstr("upgradePolicy of NVIDIADriver wrong"));
  EXPECT_THAT(PodsFor({Node("n", State::kPodDeletion)}, {{"", std::nullopt}}, "ns"), IsEmpty());
}

TEST(RollOutAll, NoMoreNodesAreEmptiedAtOnceThanCanBeLookedAt) {
  std::vector<NodeInput> nodes;
  for (size_t i = 0; i < kNodesAtOnce + 3; ++i) {
    const State state = i == 0 ? State::kDrain : i == 1 ? State::kPodDeletion : State::kWaitForJobs;
    nodes.push_back(Node(format("n{:02}", i), state));
    nodes.back().pods.emplace();
    nodes.back().pods->push_back({{"users", "p"}, {.managed = true, .uses_gpus = true}});
  }
  const RollOutPlan plan =
      RollOutAll(nodes, {{"", policy::UpgradePolicy{.drain = true}}}, kRollOutNow + seconds(1));
  EXPECT_EQ(std::ranges::count(plan.changes, State::kPodDeletion, &Change::to),
            static_cast<long>(kNodesAtOnce) - 1)
      << "one evicts, the others begin";
  const auto last = std::ranges::find(plan.nodes, "n18", &NodeStatus::name);
  ASSERT_NE(last, plan.nodes.end());
  EXPECT_THAT(last->reason, HasSubstr("16 other nodes are emptied first"));
  EXPECT_EQ(last->state, State::kWaitForJobs);
}

TEST(RollOutAll, NodesThatNobodyEmptiesHoldNoOthersUp) {
  std::vector<NodeInput> nodes(kNodesAtOnce, Node("held", State::kDrain));
  for (NodeInput& node : nodes) {
    node.owner = "wrong";
  }
  nodes.push_back(Node("free", State::kWaitForJobs));
  nodes.back().owner = "other";
  nodes.back().pods.emplace();
  nodes.back().pods->push_back({{"users", "p"}, {.managed = true, .uses_gpus = true}});
  const RollOutPlan plan =
      RollOutAll(nodes, {{"wrong", std::nullopt}, {"other", policy::UpgradePolicy{.drain = true}}},
                 kRollOutNow + seconds(1));
  ASSERT_THAT(plan.changes, SizeIs(1));
  EXPECT_EQ(plan.changes[0].to, State::kPodDeletion);
}

TEST(Status, SaysOfEachNodeWhereItIs) {
  const RollOutPlan plan = RollOut(Nodes({State::kDone, State::kFailed}), {}, kRollOutNow);
  EXPECT_EQ(StatusOf(plan), Json::parse(R"({
      "total": 2, "done": 1, "inProgress": 0, "failed": 1, "pending": 0,
      "nodes": [{"name": "n1", "state": "upgrade-failed", "since": "2023-11-14T22:13:20Z",
                 "reason": "why",
                 "next": "correct the cause and remove the label nvidia.com/gpu-driver-upgrade-state"
                }]})"));
  EXPECT_EQ(Summary(plan), "1 of 2 drivers are upgraded; n1 is upgrade-failed: why");
  const RollOutPlan done = RollOut(Nodes({State::kDone}), {}, kRollOutNow);
  EXPECT_FALSE(StatusOf(done).contains("nodes"));
  EXPECT_EQ(Summary(done), "");
  EXPECT_EQ(
      StatusOf(RollOut(Nodes(std::vector<State>(300, kPending)), {}, kRollOutNow))["nodes"].size(),
      100U);
}

}  // namespace
}  // namespace gantry::gpu_operator::upgrade
