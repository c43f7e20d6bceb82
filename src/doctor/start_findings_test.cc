// SPDX-License-Identifier: Apache-2.0
#include "doctor/start_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "doctor/pod_facts.h"

namespace gantry::doctor {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
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
           {"failed to get sandbox runtime: no runtime for \"gpu\" is configured",
            "RuntimeHandlerMissing"},
           {"failed to find runtime handler gpu from runtime list map[runc:0x1]",
            "RuntimeHandlerMissing"},
           {"runc create failed: failed to fulfil mount request: open "
            "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54: no such file or directory",
            "CdiStale"},
           {"failed to fulfil mount request: open /usr/lib64/libcuda.so.550.54: no such file",
            "CdiStale"},
           {"failed to fulfil mount request: open /usr/bin/nvidia-smi: no such file", "CdiStale"},
           {"failed to fulfil mount request: open /data/models: no such file", nullptr},
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
           {"error running createContainer hook: /usr/local/nvidia/toolkit/nvidia-ctk hook",
            "RuntimeHookFails"},
           {"CDI device injection failed: failed to stat CDI host device \"/dev/nvidia0\"",
            "CdiStale"},
           {"runc create failed: exec: \"nvidia-smi\": executable file not found in $PATH",
            "GpuNotInContainer"},
           {"crun: executable file `nvidia-smi` not found in $PATH: No such file or directory",
            "GpuNotInContainer"},
           {"exec: \"train\": executable file not found in $PATH", nullptr},
           {"Failed to create pod sandbox: plugin type=\"calico\" failed", nullptr}}) {
    ClusterFacts cluster;
    cluster.starts = {
        {.object = "pod default/x", .node = "n1", .message = message, .wants_gpus = true}};
    EXPECT_EQ(StartFailure(message, true).has_value(), code != nullptr) << message;
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

// A disabled toolkit has no log.
TEST(Starts, WithoutOurToolkitTheRemedyIsToHaveOne) {
  ClusterFacts cluster;
  cluster.policies.emplace_back().state = "ready";
  cluster.starts = {{.object = "pod default/x",
                     .node = "n1",
                     .message = "error running createContainer hook #0: fork/exec "
                                "/usr/bin/nvidia-ctk: no such file or directory",
                     .wants_gpus = true}};
  EXPECT_THAT(Examined(cluster).at(0).remedy, HasSubstr("toolkit's pod"));
  cluster.policies[0].installs_toolkit = false;
  EXPECT_THAT(Examined(cluster).at(0).remedy,
              AllOf(HasSubstr("toolkit.enabled is false"), HasSubstr("toolkit.enabled=true")));
  cluster.policies[0].state = "ignored";
  EXPECT_THAT(Examined(cluster).at(0).remedy, HasSubstr("toolkit's pod"));
}

TEST(Starts, HandlersThatDockerLacks) {
  for (const char* message :
       {"Failed to create pod sandbox: rpc error: code = Unknown desc = RuntimeHandler \"nvidia\" "
        "not supported",
        "Failed to create pod sandbox: Error response from daemon: unknown or invalid runtime "
        "name: "
        "nvidia",
        "Error response from daemon: Unknown runtime specified nvidia",
        "RuntimeHandler \"gpu\" not supported",
        "Error response from daemon: unknown or invalid runtime name: gpu"}) {
    ASSERT_TRUE(StartFailure(message, true).has_value()) << message;
    EXPECT_EQ(StartFailure(message, true)->code, "RuntimeHandlerMissing") << message;
  }
}

// As runc from 1.2 on says it, as it did before, and crun.
TEST(Starts, FilesOfTheDriverThatAreGone) {
  constexpr char kGone[] = ": no such file or directory: unknown";
  for (const char* message :
       {"failed to fulfil mount request: open /usr/lib/libEGL_nvidia.so.550.54",
        "failed to fulfil mount request: open /usr/lib/libGLX_nvidia.so.550.54",
        "failed to fulfil mount request: open /lib/firmware/nvidia/550.54/gsp_ga10x.bin",
        "failed to fulfil mount request: open /run/nvidia-persistenced/socket",
        "error mounting \"/run/nvidia/driver/usr/lib/libnvidia-egl-gbm.so.1.1.1\" to rootfs at "
        "\"/usr/lib/libnvidia-egl-gbm.so.1.1.1\": stat "
        "/run/nvidia/driver/usr/lib/libnvidia-egl-gbm.so.1.1.1",
        "crun: cannot stat `/lib64/libEGL_nvidia.so.550.54.14`"}) {
    const std::optional<Finding> finding = StartFailure(std::string(message) + kGone, false);
    ASSERT_TRUE(finding.has_value()) << message;
    EXPECT_EQ(finding->code, "CdiStale") << message;
  }
  EXPECT_TRUE(
      StartFailure("crun: cannot stat `/lib64/libcuda.so.1`: No such file or directory: OCI "
                   "runtime attempted to invoke a command that was not found",
                   true)
          .has_value());
  // Other files, and other faults.
  for (const char* message :
       {"crun: cannot stat `/data/models`: No such file or directory",
        "error mounting \"/data/models\" to rootfs at \"/models\": stat /data/models: no such file "
        "or directory",
        "error mounting \"/usr/lib/libnvidia-ml.so.550\" to rootfs at \"/x\": not a directory",
        "libnvidia-ml.so.1: No such file or directory"}) {
    EXPECT_FALSE(StartFailure(message, true).has_value()) << message;
  }
}

// A container without GPUs has no nvidia-smi; a fault of the node's runtime affects all.
TEST(Starts, OfPodsWithoutGpus) {
  EXPECT_FALSE(StartFailure("exec: \"nvidia-smi\": executable file not found in $PATH", false));
  EXPECT_TRUE(StartFailure("no runtime for \"nvidia\" is configured", false));
  EXPECT_FALSE(StartFailure("no runtime for \"runsc\" is configured", false));
  EXPECT_TRUE(StartFailure("unknown or invalid runtime name: nvidia", false));
  EXPECT_TRUE(StartFailure("RuntimeHandler \"nvidia\" not supported", false));
  EXPECT_FALSE(StartFailure("unknown or invalid runtime name: runsc", false));
  EXPECT_FALSE(StartFailure("RuntimeHandler \"runsc\" not supported", false));
  EXPECT_TRUE(
      StartFailure("cannot stat `/lib64/libcuda.so.550`: No such file or directory", false));
  ClusterFacts cluster;
  cluster.starts = {{.object = "pod default/x",
                     .node = "n1",
                     .message = "exec: \"nvidia-smi\": executable file not found in $PATH"}};
  EXPECT_THAT(Examined(cluster), IsEmpty());
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

// A pod that a kubelet refuses after its own restart keeps the time of its first start.
TEST(Rejections, AreAsOldAsTheStatus) {
  Json pod = FailedPod("UnexpectedAdmissionError");
  pod["metadata"]["managedFields"] = *ParseJson(R"([
      {"manager": "kubelet", "operation": "Update", "subresource": "status",
       "time": "2026-01-03T00:00:00Z"},
      {"manager": "kube-scheduler", "subresource": "status", "time": "2026-01-02T00:00:00Z"},
      {"manager": "kubectl-label", "operation": "Update", "time": "2026-01-04T00:00:00Z"}])");
  EXPECT_EQ(RejectionFrom(pod)->at, "2026-01-03T00:00:00Z");
  pod["status"]["startTime"] = "2026-01-05T00:00:00Z";
  EXPECT_EQ(RejectionFrom(pod)->at, "2026-01-05T00:00:00Z");
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

TEST(StartFailure, Op1358_AFolderThatIsNotThereNamesItsField) {
  const auto of = [](const std::string& volume, const std::string& path) {
    return LacksFolder(
        format("MountVolume.SetUp failed for volume \"{}\" : hostPath type check "
               "failed: {} is not a directory",
               volume, path));
  };
  const Finding root = of("pod-resources", "/data/kubelet/pod-resources");
  EXPECT_EQ(root.code, "HostFolderMissing");
  EXPECT_THAT(root.message, HasSubstr("host directory /data/kubelet/pod-resources"));
  EXPECT_THAT(root.remedy, HasSubstr("hostPaths.kubeletRootDir"));
  EXPECT_EQ(of("pod-gpu-resources", "/data/kubelet/pod-resources").cause, root.cause);
  EXPECT_THAT(of("device-plugin", "/x").remedy, HasSubstr("hostPaths.kubeletRootDir"));
  EXPECT_THAT(of("host-root", "/x").remedy, HasSubstr("hostPaths.rootFS"));
  EXPECT_THAT(of("containerd-socket", "/x").remedy, HasSubstr("toolkit.env"));
  EXPECT_THAT(of("other", "/x").remedy, HasSubstr("create it on the node"));
  EXPECT_THAT(LacksFolder("configmap \"x\" not found").code, IsEmpty());
  EXPECT_THAT(LacksFolder("hostPath type check failed: ").code, IsEmpty());
}

}  // namespace
}  // namespace gantry::doctor
