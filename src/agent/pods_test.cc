// SPDX-License-Identifier: Apache-2.0
#include "agent/pods.h"

#include <gtest/gtest.h>

namespace gantry::agent {
namespace {

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
}  // namespace gantry::agent
