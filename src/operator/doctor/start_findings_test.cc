// SPDX-License-Identifier: Apache-2.0
#include "operator/doctor/start_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::doctor {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

std::vector<Finding> Examined(const ClusterFacts& cluster) {
  std::vector<Finding> findings;
  ExamineStarts(cluster, findings);
  return findings;
}

// As containerd and CRI-O say it.
TEST(Starts, WhatContainerRuntimesSay) {
  struct Case {
    const char* message;
    const char* code;  // nullptr: none
  };
  for (const auto& [message, code] : std::initializer_list<Case>{
           {"Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox "
            "runtime: no runtime for \"nvidia\" is configured",
            "RuntimeHandlerMissing"},
           {"Failed to create pod sandbox: failed to find runtime handler nvidia from runtime list",
            "RuntimeHandlerMissing"},
           {"failed to get sandbox runtime: no runtime for \"runsc\" is configured", nullptr},
           {"Error: failed to create containerd task: CDI device injection failed: unresolvable "
            "CDI "
            "devices k8s.device-plugin.nvidia.com/gpu=GPU-1",
            "CdiDevicesUnknown"},
           {"nvidia-container-cli: initialization error: nvml error: driver not loaded",
            "RuntimeHookFails"},
           {"nvidia-container-cli.real: initialization error: load library failed",
            "RuntimeHookFails"},
           {"nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.6, please "
            "update your driver to a newer version",
            "DriverTooOld"},
           {"exec: \"/usr/local/nvidia/toolkit/nvidia-container-runtime\": no such file",
            "RuntimeHookFails"},
           {"error running createContainer hook: /usr/local/nvidia/toolkit/nvidia-cdi-hook",
            "RuntimeHookFails"},
           {"Failed to create pod sandbox: plugin type=\"calico\" failed", nullptr}}) {
    ClusterFacts cluster;
    cluster.starts = {{.object = "pod default/x", .node = "n1", .message = message}};
    EXPECT_EQ(StartFailure(message).has_value(), code != nullptr) << message;
    if (code == nullptr) {
      EXPECT_THAT(Examined(cluster), IsEmpty()) << message;
    } else {
      EXPECT_THAT(Examined(cluster),
                  ElementsAre(AllOf(Field(&Finding::code, code),
                                    Field(&Finding::object, "pod default/x on n1"))))
          << message;
    }
  }
}

Json FailedPod(const char* reason) {
  Json pod = *ParseJson(R"({"kind": "Pod", "metadata": {"namespace": "default", "name": "x",
      "ownerReferences": [{"kind": "ReplicaSet", "name": "r", "controller": true}]},
      "spec": {"nodeName": "n1", "containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]},
      "status": {"phase": "Failed", "message": "why", "startTime": "2026-01-01T00:00:00Z"}})");
  pod["status"]["reason"] = reason;
  return pod;
}

TEST(Rejections, OfPodsWithGpusAlone) {
  for (const char* reason :
       {"UnexpectedAdmissionError", "OutOfnvidia.com/gpu", "TopologyAffinityError"}) {
    const auto rejection = RejectionFrom(FailedPod(reason));
    ASSERT_TRUE(rejection.has_value()) << reason;
    EXPECT_EQ(rejection->object, "pod default/x");
    EXPECT_EQ(rejection->owner, "ReplicaSet default/r");
    EXPECT_EQ(rejection->at, "2026-01-01T00:00:00Z");
    Json pod = FailedPod(reason);
    pod["spec"]["containers"][0]["resources"] = Json::object();
    EXPECT_FALSE(RejectionFrom(pod).has_value());
    pod = FailedPod(reason);
    pod["status"]["phase"] = "Running";
    EXPECT_FALSE(RejectionFrom(pod).has_value());
  }
  EXPECT_FALSE(RejectionFrom(FailedPod("Evicted")).has_value());
  EXPECT_FALSE(RejectionFrom(FailedPod("OutOfcpu")).has_value());
}

TEST(Rejections, ByWhatTheyMean) {
  ClusterFacts cluster;
  cluster.now = WallTime(hours(24 * 365 * 56));
  RejectionFacts rejection = {.object = "pod default/x",
                              .owner = "",
                              .node = "n1",
                              .message = "Allocate failed due to no healthy devices present",
                              .at = Rfc3339(cluster.now - minutes(59))};
  cluster.rejections = {rejection};
  EXPECT_THAT(Examined(cluster), ElementsAre(AllOf(Field(&Finding::code, "PodRejected"),
                                                   Field(&Finding::severity, Severity::kProblem))));
  cluster.rejections[0].message =
      "Allocate failed: request for 'nvidia.com/gpu: 2' too large: maximum request size for shared "
      "resources is 1";
  EXPECT_THAT(Examined(cluster), ElementsAre(Field(&Finding::code, "SharedRequestTooLarge")));
  cluster.rejections[0].message = "Resources cannot be allocated with Topology locality";
  EXPECT_THAT(Examined(cluster), ElementsAre(Field(&Finding::code, "TopologyRefuses")));
  cluster.rejections[0].at = Rfc3339(cluster.now - minutes(61));
  EXPECT_THAT(Examined(cluster), IsEmpty());
  // An owner makes another; when that goes on, something is wrong.
  rejection.owner = "ReplicaSet default/r";
  cluster.rejections = {rejection, rejection};
  EXPECT_THAT(Examined(cluster),
              ElementsAre(AllOf(Field(&Finding::severity, Severity::kNote),
                                Field(&Finding::object, "pod default/x and 1 more of its owner"))));
  cluster.rejections.push_back(rejection);
  EXPECT_THAT(Examined(cluster), ElementsAre(Field(&Finding::severity, Severity::kProblem)));
}

}  // namespace
}  // namespace gantry::doctor
