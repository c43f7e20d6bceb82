// SPDX-License-Identifier: Apache-2.0

#include "operator/upgrade/observe.h"

#include <gtest/gtest.h>

#include "policy/names.h"

namespace gantry::gpu_operator::upgrade {
namespace {

NamedPod Driver(const char* name, PodFacts facts) {
  facts.node = "n";
  return {{"ns", name}, std::move(facts)};
}

PodFacts OfSet(const char* revision, const char* digest = "") {
  return {.revision = revision, .daemon_set = "set", .digest = digest, .managed = true};
}

class ObserveTest : public testing::Test {
 protected:
  ObserveTest() {
    snapshot_.revisions = {{"set", "old", "1", 1}, {"set", "new", "2", 2}, {"other", "x", "3", 9}};
    snapshot_.daemon_sets["set"] = {.generation = 2, .observed_generation = 2};
  }
  NodeInput Node(const NodeFacts& facts = {}) { return Observer(snapshot_).Observe("n", facts); }
  DriverPod Judged(const NamedPod& pod, const Labels& labels = {}) {
    snapshot_.drivers = {pod};
    NodeFacts facts;
    facts.labels = PackLabels(labels);
    const NodeInput node = Node(facts);
    CHECK(node.driver.has_value());
    return *node.driver;
  }
  DriverSnapshot snapshot_;
};

TEST_F(ObserveTest, ThePodOfTheNewestRevisionIsCurrent) {
  EXPECT_TRUE(Judged(Driver("a", OfSet("new"))).judged);
  EXPECT_FALSE(Judged(Driver("a", OfSet("new"))).outdated);
  EXPECT_TRUE(Judged(Driver("a", OfSet("old"))).outdated);
}

// op#433: a DaemonSet leaves nodes to another one, and the pods that it keeps are not exchanged.
TEST_F(ObserveTest, APodThatOnlyTheSelectionOfNodesIsNewerThanIsCurrent) {
  snapshot_.revisions[0].pods = snapshot_.revisions[1].pods = 7;
  EXPECT_TRUE(Judged(Driver("a", OfSet("old"))).judged);
  EXPECT_FALSE(Judged(Driver("a", OfSet("old"))).outdated);
  EXPECT_TRUE(Judged(Driver("a", OfSet("x"))).outdated) << "of another DaemonSet";
  snapshot_.revisions[1].pods = 8;
  EXPECT_TRUE(Judged(Driver("a", OfSet("old"))).outdated);
  snapshot_.revisions[0].pods = snapshot_.revisions[1].pods = 0;
  EXPECT_TRUE(Judged(Driver("a", OfSet("old"))).outdated) << "nothing is known of them";
}

TEST_F(ObserveTest, TheSameDigestIsTheSameDriver) {
  EXPECT_TRUE(Judged(Driver("a", OfSet("old", "2"))).same_driver);
  EXPECT_FALSE(Judged(Driver("a", OfSet("old", "1"))).same_driver);
  EXPECT_FALSE(Judged(Driver("a", OfSet("old", ""))).same_driver);
}

TEST_F(ObserveTest, NothingIsSaidBeforeTheControllerHasLookedAtTheTemplate) {
  snapshot_.daemon_sets["set"].observed_generation = 1;
  EXPECT_FALSE(Judged(Driver("a", OfSet("old"))).judged);
  snapshot_.daemon_sets.clear();
  EXPECT_FALSE(Judged(Driver("a", OfSet("old"))).judged);
  snapshot_.daemon_sets["set"] = {.generation = 2, .observed_generation = 2};
  snapshot_.revisions.clear();
  EXPECT_FALSE(Judged(Driver("a", OfSet("old"))).judged);
}

TEST_F(ObserveTest, APodWithoutADaemonSetIsInTheWay) {
  EXPECT_TRUE(Judged(Driver("a", {})).outdated);
  // Until there is a DaemonSet whose pod would take its place, or if somebody else manages it.
  EXPECT_FALSE(Judged(Driver("a", {.managed = true})).judged);
  snapshot_.revisions.clear();
  EXPECT_FALSE(Judged(Driver("a", {})).judged);
  // What a DaemonSet that is gone has left says nothing.
  snapshot_.revisions = {{"", "old", "1", 1}, {"other", "x", "3", 9}};
  EXPECT_FALSE(Judged(Driver("a", {})).judged);
}

// Drivers that went from a ClusterPolicy to NVIDIADrivers: one has a mistake, or the node does not
// say which system it runs.
TEST_F(ObserveTest, APodWithoutADaemonSetStaysWhereNoneWouldTakeItsPlace) {
  const auto is_outdated = [&](const Labels& labels) {
    const DriverPod pod = Judged(Driver("a", {}), labels);
    EXPECT_EQ(pod.judged, pod.outdated);
    return pod.outdated;
  };
  snapshot_.revisions[1].nodes =
      PackLabels({{names::kDriverOwner, "one"}, {names::kSystemId, "ubuntu"}});
  EXPECT_TRUE(is_outdated({{names::kDriverOwner, "one"}, {names::kSystemId, "ubuntu"}}));
  EXPECT_FALSE(is_outdated({{names::kDriverOwner, "two"}, {names::kSystemId, "ubuntu"}}));
  EXPECT_FALSE(is_outdated({{names::kDriverOwner, "one"}}));
}

TEST_F(ObserveTest, OfTwoPodsTheOneThatStays) {
  PodFacts ending = OfSet("old");
  ending.deleting = true;
  snapshot_.drivers = {Driver("a", ending), Driver("b", OfSet("new"))};
  EXPECT_EQ(Node().driver->key.name, "b");
  std::swap(snapshot_.drivers[0], snapshot_.drivers[1]);
  EXPECT_EQ(Node().driver->key.name, "b");
  snapshot_.drivers = {Driver("a", ending)};
  EXPECT_TRUE(Node().driver->facts.deleting);
}

TEST_F(ObserveTest, APodWithoutANodeIsOfNone) {
  snapshot_.drivers = {{{"ns", "a"}, OfSet("new")}};
  EXPECT_FALSE(Node().driver.has_value());
  EXPECT_FALSE(Observer(snapshot_).Observe("", {}).driver.has_value());
}

TEST_F(ObserveTest, LabelsAndAnnotations) {
  NodeFacts facts;
  facts.labels = PackLabels({{"nvidia.com/gpu-driver-upgrade-state", "drain-required"},
                             {"nvidia.com/gpu-driver-upgrade.skip", "true"},
                             {"nvidia.com/gpu.deploy.operator-validator", "true"},
                             {"nvidia.com/gpu.validation", "DriverMissing"}});
  facts.upgrade = PackLabels({{"nvidia.com/gpu-driver-upgrade-requested", "true"}});
  facts.cordoned = true;
  const NodeInput node = Node(facts);
  EXPECT_EQ(node.state, State::kDrain);
  EXPECT_TRUE(node.skip);
  EXPECT_TRUE(node.cordoned);
  EXPECT_FALSE(node.ready);
  EXPECT_FALSE(node.wanted);
  EXPECT_EQ(node.broken, "DriverMissing");
  EXPECT_EQ(node.marks.at("nvidia.com/gpu-driver-upgrade-requested"), "true");
  facts.labels = PackLabels({{"nvidia.com/gpu.deploy.driver", "true"},
                             {"nvidia.com/gpu.deploy.operator-validator", "true"},
                             {"nvidia.com/gpu.validation", "ready"}});
  EXPECT_EQ(Node(facts).broken, "");
  EXPECT_TRUE(Node(facts).wanted);
  facts.labels = PackLabels({{"nvidia.com/gpu.deploy.driver", "pre-installed"},
                             {"nvidia.com/gpu.validation", "DriverMissing"}});
  EXPECT_EQ(Node(facts).broken, "") << "no validator checks it any more";
  EXPECT_FALSE(Node(facts).wanted);
}

TEST(ValueIn, IsTheWholeLabels) {
  const std::string packed = PackLabels({{"a", "1"}, {"a.b", "x=y"}, {"ab", ""}});
  EXPECT_EQ(ValueIn(packed, "a"), "1");
  EXPECT_EQ(ValueIn(packed, "a.b"), "x=y");
  EXPECT_EQ(ValueIn(packed, "ab"), "");
  EXPECT_EQ(ValueIn(packed, "b"), "");
  EXPECT_EQ(ValueIn("", "a"), "");
}

TEST(HasTraces, OfALabelOrAnAnnotation) {
  NodeFacts facts;
  facts.labels = PackLabels({{"nvidia.com/gpu.present", "true"}});
  EXPECT_FALSE(HasTraces(facts));
  facts.upgrade = PackLabels({{"nvidia.com/gpu-driver-upgrade-enabled", "true"}});
  EXPECT_TRUE(HasTraces(facts));
  facts.upgrade = "";
  facts.labels = PackLabels({{"nvidia.com/gpu-driver-upgrade-state", "upgrade-done"}});
  EXPECT_TRUE(HasTraces(facts));
}

// What the operator keeps of a Node holds all that is asked here.
TEST(ProjectNode, KeepsWhatUpgradesNeed) {
  const NodeFacts facts = ProjectNode(Json::parse(R"({
      "metadata": {"labels": {"nvidia.com/gpu-driver-upgrade-state": "upgrade-failed"},
                   "annotations": {"nvidia.com/gpu-operator.driver-upgrade-cordon": "true",
                                   "nvidia.com/gpu-operator.driver-upgrade-step": "a b",
                                   "nvidia.com/gpu-driver-upgrade-requested": "true",
                                   "nvidia.com/other": "x"}},
      "spec": {"unschedulable": true}})"));
  EXPECT_TRUE(facts.cordoned);
  EXPECT_EQ(UnpackLabels(facts.upgrade).size(), 3U);
  EXPECT_EQ(Observer(DriverSnapshot{}).Observe("n", facts).state, State::kFailed);
}

}  // namespace
}  // namespace gantry::gpu_operator::upgrade
