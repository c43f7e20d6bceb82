// SPDX-License-Identifier: Apache-2.0
#include "doctor/container_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "doctor/testing/containers.h"

namespace gantry::doctor {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ContainerFindings = ContainerTest;

// It compiles for minutes, ends, and is started anew: for most of that time it runs.
TEST_F(ContainerFindings, DriversThatEndAfterMinutes) {
  ContainerFacts container = Crashing(kDriverApp, "Could not resolve host");
  container.waiting = "";
  container.restarts = 3;
  container.ended_at = Ago(minutes(2));
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "PackagesUnreachable")));
  container.ended = "Unknown";  // with its node, which was restarted
  EXPECT_THAT(Operand({container}), IsEmpty());
  container.ended = "Error";
  container.ready = true;
  EXPECT_THAT(Operand({container}), IsEmpty());
}

TEST_F(ContainerFindings, ADriverBesideOneThatWorks) {
  cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "ready";
  EXPECT_THAT(Operand({Crashing(kDriverApp, "")}),
              ElementsAre(Field(&Finding::code, "DriverConflict")));
  // It can't unload that one; in an upgrade it is to.
  const ContainerFacts in_use = Crashing(kDriverApp, "driver is in use");
  EXPECT_THAT(Operand({in_use}), ElementsAre(Field(&Finding::code, "DriverConflict")));
  cluster_.nodes[0].labels["nvidia.com/gpu-driver-upgrade-state"] = "pod-restart-required";
  EXPECT_THAT(Operand({in_use}), ElementsAre(Field(&Finding::code, "DriverInUse")));
  cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "DriverMissing";
  EXPECT_THAT(Operand({Crashing(kDriverApp, "")}),
              ElementsAre(Field(&Finding::code, "DriverContainerFails")));
}

TEST_F(ContainerFindings, DriversWhoseLogNobodyHasRead) {
  std::vector<ContainerFacts> containers = {Crashing(kDriverApp, ""),
                                            Crashing(kDriverApp, "Could not resolve host")};
  containers[1].node = "n2";
  EXPECT_THAT(Operand(containers),
              ElementsAre(Field(&Finding::object, "DaemonSet nvidia-driver-daemonset on n1, n2")));
  // Another container of the pod has another cause.
  containers[0].container = "other";
  EXPECT_THAT(Operand(containers), ElementsAre(Field(&Finding::code, "PackagesUnreachable"),
                                               Field(&Finding::code, "DriverContainerFails")));
}

// The exporter's pod is made with the toolkit's, and the kubelet tries it again within 15 s.
TEST_F(ContainerFindings, APodThatCameBeforeTheToolkitIsLate) {
  ContainerFacts container = Of("nvidia-dcgm-exporter", "ContainerCreating");
  container.message = "Failed to create pod sandbox: no runtime for \"nvidia\" is configured";
  NodeFacts& node = cluster_.nodes[0];
  node.labels["nvidia.com/gpu.validation"] = "ready";
  node.written["nvidia.com/gpu.validation"] = Ago(minutes(2));
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "RuntimeHandlerMissing")));
  node.written["nvidia.com/gpu.validation"] = Ago(minutes(0));
  EXPECT_THAT(Operand({container}), IsEmpty());
}

// As containerd's kubelet tells it: in the state, then in the state before.
TEST_F(ContainerFindings, ContainersThatTheRuntimeCannotStart) {
  ContainerFacts container = Of(kPluginApp, "RunContainerError");
  container.message = "OCI runtime create failed: nvidia-container-cli: driver not loaded";
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "RuntimeHookFails")));
  container.waiting = "CrashLoopBackOff";
  container.ended = "StartError";
  container.last_words = std::exchange(container.message, "back-off 5m0s restarting");
  EXPECT_THAT(Operand({container}),
              ElementsAre(AllOf(
                  Field(&Finding::code, "RuntimeHookFails"),
                  Field(&Finding::object, "DaemonSet nvidia-device-plugin-daemonset on n1"))));
  container.last_words = "no space left on device";
  EXPECT_THAT(Operand({container}),
              ElementsAre(AllOf(Field(&Finding::code, "OperandCrashing"),
                                Field(&Finding::message, HasSubstr("no space left")))));
  // Its own words are no runtime's.
  container.ended = "Error";
  container.last_words = "nvidia-container-cli is not in the image";
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandCrashing")));
  // It was before the toolkit, and runs.
  container.waiting = "";
  container.ended = "StartError";
  container.last_words = "nvidia-container-cli: driver not loaded";
  EXPECT_THAT(Operand({container}), IsEmpty());
}

TEST_F(ContainerFindings, ExportersThatEnd) {
  for (const char* app : {"nvidia-dcgm-exporter", "nvidia-dcgm"}) {
    EXPECT_THAT(Operand({Crashing(app, "")}),
                ElementsAre(Field(&Finding::code, "ExporterCrashing")));
  }
}

TEST_F(ContainerFindings, NotEnoughMemory) {
  ContainerFacts container = Of("nvidia-dcgm-exporter", "");
  container.ended = "OOMKilled";
  container.exit_code = 137;
  container.memory_limit = "512Mi";
  container.ended_at = Ago(minutes(59));
  const auto findings = Operand({container});
  ASSERT_THAT(findings, ElementsAre(Field(&Finding::code, "OperandOutOfMemory")));
  EXPECT_THAT(findings[0].message, HasSubstr("512Mi"));
  container.waiting = "CrashLoopBackOff";
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandOutOfMemory")));
  // Long ago.
  container.waiting = "";
  container.ended_at = Ago(minutes(61));
  EXPECT_THAT(Operand({container}), IsEmpty());
  // Killed, and running again: a user did that.
  container.ended = "Error";
  container.ended_at = Ago(minutes(1));
  EXPECT_THAT(Operand({container}), IsEmpty());
}

TEST_F(ContainerFindings, TheOperatorItself) {
  ContainerFacts container = Of("gpu-operator", "");
  container.ended = "OOMKilled";
  container.ended_at = Ago(minutes(1));
  EXPECT_THAT(
      Operand({container}),
      ElementsAre(AllOf(
          Field(&Finding::object, "Deployment gpu-operator/gpu-operator on n1"),
          Field(&Finding::remedy, "raise limits.memory in operator.resources of the chart"))));
}

TEST_F(ContainerFindings, InitContainersThatWaitForEver) {
  ContainerFacts container = Of(kPluginApp, "");
  container.init = true;
  container.container = "toolkit-validation";
  container.since = Ago(minutes(9));
  EXPECT_THAT(Operand({container}), IsEmpty());
  container.since = Ago(minutes(11));
  const auto findings = Operand({container});
  ASSERT_THAT(findings, ElementsAre(Field(&Finding::code, "OperandStuck")));
  EXPECT_THAT(findings[0].message, HasSubstr("toolkit-validation waits"));
  // It waits for what the node's own finding names, or for the node.
  cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "DriverMissing";
  EXPECT_THAT(Operand({container}), IsEmpty());
  cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "ready";
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandStuck")));
  // One that does not run may be why the kubelet offers no GPU.
  for (const char* word : {"NoGpuAllocatable", "KubeletDoesNotAnswer"}) {
    cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = word;
    EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandStuck"))) << word;
  }
  cluster_.nodes[0].ready = false;
  EXPECT_THAT(Operand({container}), IsEmpty());
}

// NVIDIA's validator says nothing on the node of a driver that is being installed.
TEST_F(ContainerFindings, InitContainersThatWaitForTheDriver) {
  ContainerFacts container = Of(kPluginApp, "");
  container.init = true;
  container.since = Ago(minutes(11));
  cluster_.nodes[0].labels["nvidia.com/gpu.deploy.device-plugin"] = "true";
  cluster_.operands = {{.name = kDriverApp}};
  cluster_.drivers_begun = {{"n1", Ago(minutes(12))}};
  EXPECT_THAT(Operand({container}), IsEmpty());
  cluster_.drivers_begun = {{"n1", Ago(minutes(21))}};
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandStuck")));
}

TEST_F(ContainerFindings, ContainersThatAreNotMade) {
  ContainerFacts container = Of(kPluginApp, "ContainerCreating");
  container.since = Ago(minutes(11));
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandStuck")));
  container.since = Ago(minutes(1));
  EXPECT_THAT(Operand({container}), IsEmpty());
  // Volumes, from the kubelet's event.
  for (const char* message :
       {"MountVolume.SetUp failed for volume \"config\" : configmap \"x\" not found",
        "MountVolume.SetUp failed for volume \"config\" : references non-existent config key: k"}) {
    container.message = message;
    const auto lacking = Operand({container});
    ASSERT_THAT(lacking, ElementsAre(Field(&Finding::code, "OperandNotStarted"))) << message;
    EXPECT_THAT(lacking[0].message, HasSubstr(message));
  }
  container.message =
      "MountVolume.SetUp failed for volume \"pod-resources\" : hostPath type check failed: "
      "/data/kubelet/pod-resources is not a directory";
  EXPECT_THAT(Operand({container}),
              ElementsAre(AllOf(Field(&Finding::code, "HostFolderMissing"),
                                Field(&Finding::remedy, HasSubstr("hostPaths.kubeletRootDir")))));
  container.message = "MountVolume.SetUp failed for volume \"x\" : hostPath type check failed";
  EXPECT_THAT(Operand({container}), IsEmpty());
  container.since = Ago(minutes(11));
  EXPECT_THAT(Operand({container}),
              ElementsAre(AllOf(Field(&Finding::code, "OperandStuck"),
                                Field(&Finding::message, HasSubstr("hostPath type check")))));
  container.waiting = "CreateContainerConfigError";
  container.message = "secret \"licence\" not found";
  const auto findings = Operand({container});
  ASSERT_THAT(findings, ElementsAre(Field(&Finding::code, "OperandNotStarted")));
  EXPECT_THAT(findings[0].message, HasSubstr("secret \"licence\" not found"));
}

TEST_F(ContainerFindings, OneCauseOnSeveralNodesIsOneLine) {
  std::vector<ContainerFacts> containers;
  for (const char* node : {"n1", "n2", "n3", "n4", "n5", "n6"}) {
    containers.push_back(Of(kPluginApp, "ImagePullBackOff"));
    containers.back().node = node;
  }
  containers.push_back(Of("gpu-feature-discovery", "ImagePullBackOff"));
  EXPECT_THAT(Operand(containers),
              ElementsAre(Field(&Finding::object,
                                "DaemonSet nvidia-device-plugin-daemonset on n1, n2, n3, n4, n5 "
                                "and 1 more"),
                          Field(&Finding::object, "DaemonSet gpu-feature-discovery on n1")));
  EXPECT_THAT(Operand(containers)[0].nodes, ElementsAre("n1", "n2", "n3", "n4", "n5", "n6"));
}

}  // namespace
}  // namespace gantry::doctor
