// SPDX-License-Identifier: Apache-2.0
#include "operands/driver/driver_manager/manager_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(DeployLabels, ArePausedAndResumedAsNvidiaDoes) {
  struct Case {
    const char* value;
    const char* paused;
  };
  for (const Case& each :
       {Case{"true", "paused-for-driver-upgrade"}, Case{"yes", "yes_paused-for-driver-upgrade"},
        Case{"false", "false"}, Case{"", ""}}) {
    EXPECT_EQ(PausedValue(each.value), each.paused);
    EXPECT_EQ(PausedValue(each.paused), each.paused) << "twice";
    EXPECT_EQ(ResumedValue(each.paused), each.value);
    EXPECT_EQ(ResumedValue(each.value), each.value) << "what was not paused";
  }
  EXPECT_EQ(ResumedValue("paused-for-driver-upgrade_yes"), "yes");
}

TEST(DeployLabels, OnlyThoseOfOperandsThatUseTheDriverChange) {
  const Labels node = {{"nvidia.com/gpu.deploy.driver", "true"},
                       {"nvidia.com/gpu.deploy.device-plugin", "true"},
                       {"nvidia.com/gpu.deploy.dcgm", "false"},
                       {"nvidia.com/gpu.deploy.node-status-exporter", "true"},
                       {"my/label", "on"},
                       {"other", "true"}};
  EXPECT_THAT(PausedLabels(node, ""), ElementsAre(Pair("nvidia.com/gpu.deploy.device-plugin",
                                                       "paused-for-driver-upgrade")));
  const Labels both = PausedLabels(node, "my/label");
  EXPECT_THAT(
      both, ElementsAre(Pair("my/label", "on_paused-for-driver-upgrade"),
                        Pair("nvidia.com/gpu.deploy.device-plugin", "paused-for-driver-upgrade")));
  EXPECT_THAT(
      ResumedLabels(both, "my/label"),
      ElementsAre(Pair("my/label", "on"), Pair("nvidia.com/gpu.deploy.device-plugin", "true")));
  EXPECT_THAT(ResumedLabels(node, ""), IsEmpty());
}

TEST(PlanUninstallTest, AHostsDriverIsLeftAlone) {
  EXPECT_THAT(PlanUninstall({.host_driver = true, .loaded = true, .may_evict = true}).steps,
              ElementsAre(Step::kMarkPreInstalled));
}

TEST(PlanUninstallTest, WithoutADriverOnlyWhatIsLeftOverGoes) {
  EXPECT_THAT(PlanUninstall({.may_evict = true, .may_drain = true}).steps,
              ElementsAre(Step::kRemoveRoot, Step::kUncordon, Step::kResume));
  EXPECT_THAT(PlanUninstall({.nouveau = true}).steps,
              ElementsAre(Step::kRemoveRoot, Step::kUnloadNouveau, Step::kUncordon, Step::kResume));
}

TEST(PlanUninstallTest, TheSameDriverStaysLoadedAndNobodyIsEvicted) {
  ManagerFacts facts{.loaded = true, .same_digest = true, .may_evict = true, .may_drain = true};
  EXPECT_THAT(PlanUninstall(facts).steps,
              ElementsAre(Step::kPause, Step::kAwaitOperands, Step::kRemoveRoot, Step::kUncordon,
                          Step::kResume));
  EXPECT_FALSE(PlanUninstall(facts).drain_if_stuck);
  facts.force_reinstall = true;
  EXPECT_THAT(PlanUninstall(facts).steps,
              ElementsAre(Step::kPause, Step::kAwaitOperands, Step::kCordon, Step::kEvict,
                          Step::kUnload, Step::kRemoveRoot, Step::kUncordon, Step::kResume));
}

TEST(PlanUninstallTest, WhoEmptiesTheNodeIsTheOperatorWhereItUpgrades) {
  ManagerFacts facts{.loaded = true, .may_evict = true, .may_drain = true};
  EXPECT_TRUE(PlanUninstall(facts).drain_if_stuck);
  facts.operator_upgrades = true;
  EXPECT_FALSE(PlanUninstall(facts).drain_if_stuck);
  EXPECT_THAT(PlanUninstall(facts).steps,
              ElementsAre(Step::kPause, Step::kAwaitOperands, Step::kUnload, Step::kRemoveRoot,
                          Step::kUncordon, Step::kResume));
}

TEST(TakeBackTest, LeavesNothingPausedOrCordoned) {
  EXPECT_THAT(TakeBack({Step::kPause, Step::kAwaitOperands, Step::kCordon}),
              ElementsAre(Step::kUncordon, Step::kResume));
  EXPECT_THAT(TakeBack({Step::kPause}), ElementsAre(Step::kResume));
  EXPECT_THAT(TakeBack({Step::kPause, Step::kUnload}), ElementsAre(Step::kUncordon, Step::kResume))
      << "a drain was tried";
  EXPECT_THAT(TakeBack({}), IsEmpty());
}

Json Pod(const char* text) { return Json::parse(text); }

TEST(NodePods, AreWhatTheirJsonSays) {
  const NodePod plugin =
      ProjectNodePod(Pod(R"({"metadata": {"name": "p", "namespace": "gpu-operator",
    "uid": "u", "labels": {"app": "nvidia-device-plugin-daemonset"},
    "ownerReferences": [{"kind": "DaemonSet", "name": "s", "controller": true}]}, "status": {"phase": "Running"}})"));
  EXPECT_TRUE(MustBeGone(plugin, "gpu-operator"));
  EXPECT_FALSE(MustBeGone(plugin, "other"));
  EXPECT_FALSE(IsEvicted(plugin, false));

  const NodePod job = ProjectNodePod(Pod(R"({"metadata": {"name": "j", "namespace": "ml",
    "ownerReferences": [{"kind": "Job", "controller": true}]},
    "spec": {"containers": [{"resources": {"limits": {"nvidia.com/mig-1g.5gb": 1}}}],
             "volumes": [{"emptyDir": {}}]}})"));
  EXPECT_TRUE(IsEvicted(job, true));
  EXPECT_FALSE(MustBeGone(job, "ml"));
  EXPECT_EQ(Objection(job, false, false),
            "pod ml/j has data in an emptyDir (DRAIN_DELETE_EMPTYDIR_DATA)");
  EXPECT_EQ(Objection(job, false, true), std::nullopt);

  const NodePod bare = ProjectNodePod(Pod(R"({"metadata": {"name": "b", "namespace": "ml"},
    "spec": {"containers": [{"resources": {"limits": {"cpu": 1}}}]}})"));
  EXPECT_FALSE(IsEvicted(bare, true));
  EXPECT_TRUE(IsEvicted(bare, false));
  EXPECT_EQ(Objection(bare, false, true),
            "pod ml/b has no controller that makes it anew (DRAIN_USE_FORCE)");
  EXPECT_EQ(Objection(bare, true, false), std::nullopt);

  const NodePod client = ProjectNodePod(Pod(R"({"metadata": {"name": "c", "namespace": "ml",
    "ownerReferences": [{"kind": "DaemonSet", "name": "s", "controller": true}]},
    "spec": {"nodeSelector": {"nvidia.com/gpu.deploy.client": "true"}}})"));
  EXPECT_TRUE(MustBeGone(client, "gpu-operator"));

  for (const char* idle :
       {R"({"metadata": {"name": "d"}, "status": {"phase": "Succeeded"}})",
        R"({"metadata": {"name": "m", "annotations": {"kubernetes.io/config.mirror": "x"}}})"}) {
    EXPECT_FALSE(IsEvicted(ProjectNodePod(Pod(idle)), false)) << idle;
  }
}

TEST(PodNamesTest, EndAfterFive) {
  std::vector<NodePod> pods(7);
  for (NodePod& pod : pods) {
    pod.key = {"ml", "j"};
  }
  EXPECT_EQ(PodNames(pods), "ml/j, ml/j, ml/j, ml/j, ml/j, 2 more");
}

}  // namespace
}  // namespace gantry::driver
