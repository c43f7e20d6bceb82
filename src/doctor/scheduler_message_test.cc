// SPDX-License-Identifier: Apache-2.0
#include "doctor/scheduler_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/testing/gpu_cluster.h"

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

using SchedulerMessage = GpuClusterTest;

// Which of the scheduler's counts are of nodes that never had the GPUs?
TEST_F(SchedulerMessage, GpusAreFreeAndOtherResourcesAreNot) {
  struct Case {
    const char* message;
    const char* code;
  };
  cluster_.nodes = {};
  for (const auto& [message, code] : std::initializer_list<Case>{
           {"0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu. "
            "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod.",
            "NodeResourcesShort"},
           {"0/2 nodes are available: 1 Insufficient memory, 1 Insufficient nvidia.com/gpu.",
            "NodeResourcesShort"},
           {"0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient nvidia.com/gpu.",
            "GpusInUse"},
           {"0/2 nodes are available: 2 Insufficient nvidia.com/gpu.", "GpusInUse"},
           // A node without GPUs is one that lacks them.
           {"0/2 nodes are available: 1 Too many pods, 1 Insufficient nvidia.com/gpu.",
            "PodDoesNotFit"},
           {"0/2 nodes are available: 1 Too many pods, 2 Insufficient nvidia.com/gpu.",
            "GpusInUse"}}) {
    Json pod = GpuPod("p", 1);
    pod["status"]["conditions"][0]["message"] = message;
    cluster_.nodes = {NodeFrom(node_), NodeFrom(Json::parse(R"({"metadata": {"name": "cpu1"}})"))};
    cluster_.pending = {PodFrom(pod)};
    EXPECT_THAT(Examine(cluster_), ElementsAre(Field(&Finding::code, code))) << message;
  }
}

TEST_F(SchedulerMessage, APodThatFitsNowhereForAnotherReason) {
  cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
  struct Case {
    const char* message;
    const char* code;  // nullptr: none
    Severity severity = Severity::kProblem;
  };
  for (
      const auto& [message, code, severity] : std::initializer_list<Case>{
          {"0/1 nodes are available: 1 Too many pods.", "PodDoesNotFit"},
          {"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: "
           "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
           "PodDoesNotFit"},
          {"0/2 nodes are available: 1 node(s) had untolerated taint {a: b}, 1 node(s) didn't "
           "match "
           "pod anti-affinity rules. no new claims to deallocate, preemption: 0/2 nodes are "
           "available: 1 No preemption victims found for incoming pod.",
           "PodDoesNotFit"},
          // The node that lacks ports may have no GPUs.
          {"0/2 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, "
           "1 Insufficient nvidia.com/gpu.",
           "PodDoesNotFit", Severity::kNote},
          {"0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
           "PodDoesNotFit"},
          {"0/1 nodes are available: 1 node(s) were refused by a plugin of others.",
           "PodDoesNotFit", Severity::kNote},
          {"0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't satisfy "
           "plugin(s) [NodeAffinity].",
           "GpusInUse", Severity::kNote},
          // Their own findings tell of these.
          {"0/4 nodes are available: 1 node(s) had taint {a: b}, that the pod didn't tolerate, 1 "
           "node(s) had untolerated taint(s), 1 node(s) were unschedulable, 1 node(s) didn't match "
           "Pod's node affinity/selector.",
           nullptr},
          // Another scheduler's.
          {"pod group is not ready, 1 Pending, 2 minAvailable", nullptr},
          {"", nullptr}}) {
    Json pod = GpuPod("p", 1);
    pod["status"]["conditions"][0]["message"] = message;
    cluster_.nodes = {NodeFrom(node_), NodeFrom(Json::parse(R"({"metadata": {"name": "cpu1"}})"))};
    cluster_.pending = {PodFrom(pod)};
    if (code == nullptr) {
      EXPECT_THAT(Examine(cluster_), IsEmpty()) << message;
      continue;
    }
    EXPECT_THAT(Examine(cluster_), ElementsAre(AllOf(Field(&Finding::code, code),
                                                     Field(&Finding::severity, severity))))
        << message;
    // Volumes are made meanwhile.
    pod["metadata"]["creationTimestamp"] = Rfc3339(cluster_.now - std::chrono::minutes(1));
    cluster_.pending = {PodFrom(pod)};
    EXPECT_THAT(Examine(cluster_), ElementsAre(Field(&Finding::severity, Severity::kNote)))
        << message;
  }
}

}  // namespace
}  // namespace gantry::doctor
