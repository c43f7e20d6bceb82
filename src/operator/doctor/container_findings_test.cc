// SPDX-License-Identifier: Apache-2.0
#include "operator/doctor/container_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace gantry::doctor {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ContainerFindings : public ::testing::Test {
 protected:
  ContainerFindings() {
    cluster_.now = WallTime(hours(24 * 365 * 56));
    for (const char* name : {"n1", "n2"}) {
      NodeFacts node;
      node.name = name;
      node.ready = true;
      cluster_.nodes.push_back(node);
    }
  }
  static ContainerFacts Of(const char* app, const char* waiting) {
    ContainerFacts facts;
    facts.space = "gpu-operator";
    facts.pod = "p";
    facts.app = app;
    facts.node = "n1";
    facts.container = "main";
    facts.image = "registry/x:1";
    facts.waiting = waiting;
    return facts;
  }
  static ContainerFacts Crashing(const char* app, const char* log) {
    ContainerFacts facts = Of(app, "CrashLoopBackOff");
    facts.ended = "Error";
    facts.exit_code = 1;
    facts.log = log;
    return facts;
  }
  std::vector<Finding> Operand(std::vector<ContainerFacts> containers) {
    cluster_.operand_containers = std::move(containers);
    std::vector<Finding> findings;
    ExamineOperandContainers(cluster_, findings);
    return findings;
  }
  std::vector<Finding> Workload(const ContainerFacts& container) {
    cluster_.workload_containers = {container};
    std::vector<Finding> findings;
    ExamineWorkloadContainers(cluster_, findings);
    return findings;
  }
  std::string Ago(minutes ago) const { return Rfc3339(cluster_.now - ago); }

  ClusterFacts cluster_;
};

constexpr char kDriver[] = "nvidia-driver-daemonset";
constexpr char kPlugin[] = "nvidia-device-plugin-daemonset";

TEST_F(ContainerFindings, ImagesThatDoNotCome) {
  struct Case {
    const char* app;
    const char* message;
    const char* code;
  };
  for (const auto& [app, message, code] : std::initializer_list<Case>{
           {kDriver, "manifest for registry/x:1 not found: manifest unknown", "DriverImageMissing"},
           {"nvidia-driver-daemonset-5.15.0-ubuntu22.04", "not found", "DriverImageMissing"},
           {kPlugin, "not found", "ImageMissing"},
           {kPlugin, "Back-off pulling image \"registry/x:1\"", "ImageNotPulled"},
           {kDriver, "Back-off pulling image \"registry/x:1\"", "ImageNotPulled"},
           {kPlugin,
            "Back-off pulling image \"registry/x:1\": Failed to pull image \"registry/x:1\": rpc "
            "error: code = NotFound desc = failed to resolve reference: registry/x:1: not found",
            "ImageMissing"},
           {kDriver, "failed to do request: dial tcp: lookup registry: no such host",
            "RegistryUnreachable"},
           {kPlugin, "dial tcp 10.0.0.1:443: i/o timeout", "RegistryUnreachable"},
           {kPlugin, "tls: failed to verify certificate: x509: certificate signed by unknown",
            "RegistryUnreachable"},
           {kDriver, "failed to authorize: 401 Unauthorized", "RegistryDenied"},
           {kPlugin, "unexpected status: 403 Forbidden", "RegistryDenied"},
           {kPlugin, "invalid status code from registry 403 (Forbidden)", "RegistryDenied"},
           {kPlugin, "StatusCode: 403, \"<html>\"", "RegistryDenied"},
           {kDriver, "reading manifest 1: denied: requested access to the resource is denied",
            "RegistryDenied"},
           {kPlugin, "Head \"https://x/v2/y\": no basic auth credentials", "RegistryDenied"},
           {kPlugin, "unexpected status from HEAD request: 402 Payment Required", "RegistryDenied"},
           {kDriver, "toomanyrequests: You have reached your pull rate limit",
            "RegistryUnreachable"},
           {kPlugin, "unexpected status: 429 Too Many Requests", "RegistryUnreachable"},
           {kDriver, "context deadline exceeded", "RegistryUnreachable"},
           {kDriver, "net/http: TLS handshake timeout", "RegistryUnreachable"},
           {kDriver, "net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
            "RegistryUnreachable"},
           {kDriver, "dial tcp 10.0.0.1:443: connect: no route to host", "RegistryUnreachable"},
           {kDriver, "read tcp 10.0.0.1:443: read: connection reset by peer",
            "RegistryUnreachable"},
           {kDriver, "dial tcp: lookup registry on 10.0.0.1:53: server misbehaving",
            "RegistryUnreachable"},
           {kDriver, "proxyconnect tcp: dial tcp 10.0.0.2:3128: EOF", "RegistryUnreachable"},
           {kDriver, "unexpected status: 502 Bad Gateway", "RegistryUnreachable"},
           {kDriver, "http: server gave HTTP response to HTTPS client", "RegistryUnreachable"},
           {kPlugin, "sha256:0401 not found", "ImageMissing"}}) {
    for (const char* waiting : {"ImagePullBackOff", "ErrImagePull"}) {
      ContainerFacts container = Of(app, waiting);
      container.message = message;
      EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, code))) << message;
    }
  }
}

TEST_F(ContainerFindings, ImagesThatTheKubeletDoesNotPull) {
  struct Case {
    const char* waiting;
    const char* code;
  };
  for (const auto& [waiting, code] :
       std::initializer_list<Case>{{"RegistryUnavailable", "RegistryUnreachable"},
                                   {"InvalidImageName", "ImageNameInvalid"},
                                   {"ErrImageNeverPull", "ImageMissing"},
                                   {"SignatureValidationFailed", "ImageNotTrusted"}}) {
    for (const char* app : {kDriver, kPlugin}) {
      EXPECT_THAT(Operand({Of(app, waiting)}), ElementsAre(Field(&Finding::code, code)));
    }
  }
}

// The words are those of the driver's container, of its package manager and of the kernel.
TEST_F(ContainerFindings, DriversThatEnd) {
  struct Case {
    const char* log;
    const char* code;
  };
  for (const auto& [log, code] : std::initializer_list<Case>{
           {"No precompiled package found for kernel 5.15.0-91-generic", "DriverKernelMismatch"},
           {"Could not resolve Linux kernel version", "KernelHeadersMissing"},
           {"E: Unable to locate package linux-headers-5.15.0-1", "KernelHeadersMissing"},
           {"Error: Unable to find a match: kernel-headers-4.18", "KernelHeadersMissing"},
           {"curl: (6) Could not resolve host: developer.download", "PackagesUnreachable"},
           {"Temporary failure resolving 'archive'", "PackagesUnreachable"},
           {"modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
            "SecureBootRefuses"},
           {"Could not unload NVIDIA driver kernel modules, driver is in use", "DriverInUse"},
           {"unload the driver: it is in use by process 812 (python, /dev/nvidia0)", "DriverInUse"},
           {"unload the driver: the module gdrdrv uses it", "DriverInUse"},
           {"modprobe: ERROR: could not insert 'nvidia': Invalid module format",
            "DriverKernelMismatch"},
           {"nvidia: disagrees about version of symbol module_layout", "DriverKernelMismatch"},
           {"Loading of unsigned module is rejected", "SecureBootRefuses"},
           {"Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
            "SecureBootRefuses"},
           {"ERROR: The Nouveau kernel driver is currently in use by your system.",
            "GpuBoundToNouveau"},
           {"ERROR: unable to find the kernel source tree for the currently running kernel",
            "KernelHeadersMissing"},
           {"No package kernel-headers-5.14 available", "KernelHeadersMissing"},
           {"ERROR: Unable to build the NVIDIA kernel module.", "DriverDoesNotCompile"},
           {"ERROR: An NVIDIA kernel module 'nvidia' appears to already be loaded in your kernel.",
            "DriverConflict"},
           {"something else", "DriverContainerFails"},
           {"", "DriverContainerFails"}}) {
    EXPECT_THAT(Operand({Crashing(kDriver, log)}), ElementsAre(Field(&Finding::code, code))) << log;
    // The words of a driver mean nothing in another's log.
    EXPECT_THAT(Operand({Crashing(kPlugin, log)}),
                ElementsAre(Field(&Finding::code, "OperandCrashing")))
        << log;
  }
}

TEST_F(ContainerFindings, ADriverBesideOneThatWorks) {
  cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "ready";
  EXPECT_THAT(Operand({Crashing(kDriver, "")}),
              ElementsAre(Field(&Finding::code, "DriverConflict")));
  // It can't unload that one; in an upgrade it is to.
  const ContainerFacts in_use = Crashing(kDriver, "driver is in use");
  EXPECT_THAT(Operand({in_use}), ElementsAre(Field(&Finding::code, "DriverConflict")));
  cluster_.nodes[0].labels["nvidia.com/gpu-driver-upgrade-state"] = "pod-restart-required";
  EXPECT_THAT(Operand({in_use}), ElementsAre(Field(&Finding::code, "DriverInUse")));
  cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "DriverMissing";
  EXPECT_THAT(Operand({Crashing(kDriver, "")}),
              ElementsAre(Field(&Finding::code, "DriverContainerFails")));
}

TEST_F(ContainerFindings, DriversWhoseLogNobodyHasRead) {
  std::vector<ContainerFacts> containers = {Crashing(kDriver, ""),
                                            Crashing(kDriver, "Could not resolve host")};
  containers[1].node = "n2";
  EXPECT_THAT(Operand(containers),
              ElementsAre(Field(&Finding::object, "DaemonSet nvidia-driver-daemonset on n1, n2")));
  // Another container of the pod has another cause.
  containers[0].container = "other";
  EXPECT_THAT(Operand(containers), ElementsAre(Field(&Finding::code, "PackagesUnreachable"),
                                               Field(&Finding::code, "DriverContainerFails")));
}

// As containerd's kubelet tells it: in the state, then in the state before.
TEST_F(ContainerFindings, ContainersThatTheRuntimeCannotStart) {
  ContainerFacts container = Of(kPlugin, "RunContainerError");
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
  // Killed, and running again: somebody did that.
  container.ended = "Error";
  container.ended_at = Ago(minutes(1));
  EXPECT_THAT(Operand({container}), IsEmpty());
}

TEST_F(ContainerFindings, TheOperatorItself) {
  ContainerFacts container = Of("gpu-operator", "");
  container.ended = "OOMKilled";
  container.ended_at = Ago(minutes(1));
  EXPECT_THAT(Operand({container}),
              ElementsAre(Field(&Finding::object, "Deployment gpu-operator/gpu-operator on n1")));
}

TEST_F(ContainerFindings, InitContainersThatWaitForEver) {
  ContainerFacts container = Of(kPlugin, "");
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
  cluster_.nodes[0].ready = false;
  EXPECT_THAT(Operand({container}), IsEmpty());
}

TEST_F(ContainerFindings, ContainersThatAreNotMade) {
  ContainerFacts container = Of(kPlugin, "ContainerCreating");
  container.since = Ago(minutes(11));
  EXPECT_THAT(Operand({container}), ElementsAre(Field(&Finding::code, "OperandStuck")));
  container.since = Ago(minutes(1));
  EXPECT_THAT(Operand({container}), IsEmpty());
  container.waiting = "CreateContainerConfigError";
  container.message = "secret \"licence\" not found";
  const auto findings = Operand({container});
  ASSERT_THAT(findings, ElementsAre(Field(&Finding::code, "OperandNotStarted")));
  EXPECT_THAT(findings[0].message, HasSubstr("secret \"licence\" not found"));
}

TEST_F(ContainerFindings, OneCauseOnSeveralNodesIsOneLine) {
  std::vector<ContainerFacts> containers;
  for (const char* node : {"n1", "n2", "n3", "n4", "n5", "n6"}) {
    containers.push_back(Of(kPlugin, "ImagePullBackOff"));
    containers.back().node = node;
  }
  containers.push_back(Of("gpu-feature-discovery", "ImagePullBackOff"));
  EXPECT_THAT(Operand(containers),
              ElementsAre(Field(&Finding::object,
                                "DaemonSet nvidia-device-plugin-daemonset on n1, n2, n3, n4, n5 "
                                "and 1 more"),
                          Field(&Finding::object, "DaemonSet gpu-feature-discovery on n1")));
}

TEST_F(ContainerFindings, PodsWithGpusThatEnd) {
  struct Case {
    const char* log;
    const char* code;
  };
  for (const auto& [log, code] : std::initializer_list<Case>{
           {"RuntimeError: CUDA out of memory. Tried to allocate", "GpuMemoryExhausted"},
           {"CUDA error: out of memory", "GpuMemoryExhausted"},
           {"Failed to initialize NVML: Unknown Error", "GpuLostInContainer"},
           {"CUDA driver version is insufficient for CUDA runtime version", "DriverTooOld"},
           {"The NVIDIA driver on your system is too old (found version 11040)", "DriverTooOld"},
           {"the provided PTX was compiled with an unsupported toolchain.", "DriverTooOld"},
           {"ncclUnhandledCudaError: CUDA failure 2: out of memory", "GpuMemoryExhausted"},
           {"ggml: cudaMalloc failed: out of memory", "GpuMemoryExhausted"},
           {"RESOURCE_EXHAUSTED: Out of memory while trying to allocate", "GpuMemoryExhausted"},
           {"OOM when allocating tensor with shape[1]", "GpuMemoryExhausted"},
           {"CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate", "GpuMemoryExhausted"},
           {"Failed to initialize NVML: Driver/library version mismatch", "VersionMismatch"},
           {"Failed to initialize NVML: Insufficient Permissions", "GpuNotPermitted"},
           {"ValueError: wrong shape", nullptr},
           {"out of memory", nullptr},
           {"", nullptr}}) {
    const auto findings = Workload(Crashing("train", log));
    if (code == nullptr) {
      EXPECT_THAT(findings, IsEmpty()) << log;
    } else {
      EXPECT_THAT(findings, ElementsAre(Field(&Finding::code, code))) << log;
    }
  }
}

TEST_F(ContainerFindings, MemoryThatNeighboursTake) {
  const ContainerFacts container = Crashing("train", "CUDA out of memory");
  EXPECT_THAT(Workload(container)[0].message, HasSubstr("more memory than its GPU has"));
  cluster_.nodes[0].labels["nvidia.com/gpu.sharing-strategy"] = "mps";
  EXPECT_THAT(Workload(container)[0].message, HasSubstr("more memory than its GPU has"));
  cluster_.nodes[0].labels["nvidia.com/gpu.sharing-strategy"] = "time-slicing";
  EXPECT_THAT(Workload(container)[0].message, HasSubstr("neighbours"));
}

// --- which containers are troubled at all
// ---------------------------------------------------------

std::vector<ContainerFacts> Troubled(const char* status) {
  Json pod = *ParseJson(R"({"metadata": {"namespace": "a", "name": "p", "labels": {"app": "x"}},
      "spec": {"nodeName": "n1", "initContainers": [{"name": "init"}, {"name": "side",
      "restartPolicy": "Always"}], "containers": [{"name": "main", "resources": {"limits":
      {"memory": "64Mi"}}}]}})");
  pod["status"] = *ParseJson(status);
  return TroubledContainers(pod);
}

TEST(TroubledContainers, WhatTheKubeletSays) {
  const auto troubled = Troubled(R"({"startTime": "1", "containerStatuses": [{"name": "main",
      "image": "i", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff",
      "message": "back-off"}}, "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137,
      "finishedAt": "2", "message": "killed"}}}]})");
  ASSERT_EQ(troubled.size(), 1U);
  EXPECT_EQ(troubled[0].app, "x");
  EXPECT_EQ(troubled[0].node, "n1");
  EXPECT_EQ(troubled[0].waiting, "CrashLoopBackOff");
  EXPECT_EQ(troubled[0].ended, "OOMKilled");
  EXPECT_EQ(troubled[0].ended_at, "2");
  EXPECT_EQ(troubled[0].last_words, "killed");
  EXPECT_FALSE(troubled[0].over);
  EXPECT_EQ(troubled[0].exit_code, 137);
  EXPECT_EQ(troubled[0].restarts, 3);
  EXPECT_EQ(troubled[0].memory_limit, "64Mi");
}

TEST(TroubledContainers, WhetherItFailsNow) {
  const WallTime now(hours(24 * 365 * 56));
  ContainerFacts container;
  container.exit_code = 1;
  container.ended_at = Rfc3339(now - minutes(59));
  EXPECT_TRUE(FailsNow(container, now));
  container.exit_code = 0;
  EXPECT_FALSE(FailsNow(container, now));
  container.exit_code = 1;
  container.ended_at = Rfc3339(now - minutes(61));
  EXPECT_FALSE(FailsNow(container, now));
  container.waiting = "CrashLoopBackOff";
  EXPECT_TRUE(FailsNow(container, now));
  // Of a pod that is over: its log is that of the run which failed.
  const auto over = Troubled(R"({"containerStatuses": [{"name": "main", "state": {"terminated":
      {"reason": "Error", "exitCode": 1}}}]})");
  ASSERT_EQ(over.size(), 1U);
  EXPECT_TRUE(over[0].over);
}

TEST(TroubledContainers, WhatIsNoTrouble) {
  for (const char* status :
       {R"({})", R"({"containerStatuses": [{"name": "main", "state": {"running": {}}}]})",
        R"({"initContainerStatuses": [{"name": "init", "state": {"terminated": {"exitCode": 0,
            "reason": "Completed"}}}], "containerStatuses": [{"name": "main",
            "state": {"waiting": {"reason": "PodInitializing"}}}]})",
        R"({"initContainerStatuses": [{"name": "side", "state": {"running":
            {"startedAt": "1"}}}]})"}) {
    EXPECT_THAT(Troubled(status), IsEmpty()) << status;
  }
}

TEST(TroubledContainers, WhatWaits) {
  const auto init = Troubled(
      R"({"initContainerStatuses": [{"name": "init", "state": {"running": {"startedAt": "1"}}}]})");
  ASSERT_EQ(init.size(), 1U);
  EXPECT_TRUE(init[0].init);
  EXPECT_EQ(init[0].since, "1");
  const auto made = Troubled(R"({"startTime": "1", "containerStatuses": [{"name": "main",
      "state": {"waiting": {"reason": "ContainerCreating"}}}]})");
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].since, "1");
}

TEST(TroubledContainers, APodThatGoesIsNoTrouble) {
  EXPECT_THAT(TroubledContainers(*ParseJson(R"({"metadata": {"deletionTimestamp": "1"}, "status": {
      "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}})")),
              IsEmpty());
}

}  // namespace
}  // namespace gantry::doctor
