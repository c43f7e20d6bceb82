// SPDX-License-Identifier: Apache-2.0
#include "doctor/node_lacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/policy_facts.h"
#include "doctor/testing/gpu_node.h"
#include "policy/names.h"
#include "policy/reasons.h"

namespace gantry::doctor {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using NodeLacks = GpuNodeTest;

// Every word of the validator is a code, with words of its own.
TEST_F(NodeLacks, WhatTheValidatorSays) {
  for (const char* reason : {"DriverMissing",
                             "DriverContainerNotReady",
                             "DriverNotInstalled",
                             "LibraryMissing",
                             "KernelModuleNotLoaded",
                             "VersionMismatch",
                             "DeviceNodeMissing",
                             "GpuBoundToNouveau",
                             "GpuBoundToVfio",
                             "DriverHangs",
                             "DriverFails",
                             "NoGpuAnswers",
                             "NoGpu",
                             "ToolkitNotInstalled",
                             "ToolkitBroken",
                             "CdiMissing",
                             "CdiInvalid",
                             "CdiStale",
                             "RuntimeNotConfigured",
                             "NoGpuAllocatable",
                             "CdiHookMissing",
                             "KubeletDoesNotAnswer",
                             "CudaHangs",
                             "CudaFails",
                             "CudaVersionMismatch",
                             "FabricManagerNotReady",
                             "ModuleNotLoaded",
                             "MofedNotReady"}) {
    node().labels["nvidia.com/gpu.validation"] = reason;
    EXPECT_EQ(CodeOf(), reason);
    EXPECT_EQ(StageName(node(), Stage()), reason);
  }
  node().labels["nvidia.com/gpu.validation"] = "SomethingNew";
  EXPECT_EQ(CodeOf(), "ValidationFailed");
  EXPECT_THAT(Examined()[0].message, HasSubstr("SomethingNew"));
  // Why, in an event of the validator's.
  node().validator_says = "no package for kernel 6.8";
  for (const char* reason : {"DriverNotInstalled", "RuntimeNotConfigured", "CudaFails"}) {
    node().labels["nvidia.com/gpu.validation"] = reason;
    EXPECT_THAT(Examined()[0].message, HasSubstr("no package for kernel 6.8")) << reason;
  }
  node().labels["nvidia.com/gpu.deploy.operands"] = "false";
  EXPECT_THAT(Examined(), IsEmpty());
  EXPECT_EQ(StageName(node(), Stage()), "disabled");
}

// The toolkit restarts the container runtime during an installation: a note, not a problem.
TEST_F(NodeLacks, AToolkitThatHasJustBegunIsWaitedFor) {
  node().labels["nvidia.com/gpu.deploy.container-toolkit"] = "true";
  for (const char* reason : {"ToolkitNotInstalled", "CdiMissing", "RuntimeNotConfigured"}) {
    Write(node(), names::kGpuValidation, reason, minutes(0));
    EXPECT_EQ(CodeOf(), reason);
    EXPECT_EQ(Examined()[0].severity, Severity::kNote);
    Write(node(), names::kGpuValidation, reason, minutes(2));
    EXPECT_EQ(Examined()[0].severity, Severity::kProblem);
  }
  Write(node(), names::kGpuValidation, "ToolkitBroken", minutes(0));
  EXPECT_EQ(Examined()[0].severity, Severity::kProblem);
  Write(node(), names::kGpuValidation, "ToolkitNotInstalled", minutes(0));
  node().labels["nvidia.com/gpu.deploy.container-toolkit"] = "false";
  EXPECT_EQ(Examined()[0].severity, Severity::kProblem) << "nobody installs it";
}

// The validator misses GPUs that no plugin should offer.
TEST_F(NodeLacks, ADevicePluginThatTheValidatorMisses) {
  node().labels["nvidia.com/gpu.validation"] = "NoGpuAllocatable";
  node().capacity = {};
  node().allocatable = {};
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
  node().labels["nvidia.com/gpu.deploy.device-plugin"] = "false";
  EXPECT_EQ(CodeOf(), "");
  EXPECT_EQ(StageName(node(), Stage()), "ready");
  node().labels["nvidia.com/gpu.deploy.device-plugin"] = "true";
  cluster_.policies = {PolicyFrom(*ParseJson(R"({"spec": {"devicePlugin": {"enabled": false}}})"))};
  EXPECT_EQ(CodeOf(), "");
  // Another word is another matter.
  node().labels["nvidia.com/gpu.validation"] = "DriverHangs";
  EXPECT_EQ(CodeOf(), "DriverHangs");
}

// NVIDIADrivers bring the drivers: an image in the policy brings none.
TEST_F(NodeLacks, ADriverThatNoNvidiaDriverBrings) {
  node().labels["nvidia.com/gpu.validation"] = "DriverMissing";
  const auto remedy = [this] {
    const std::vector<Finding> findings = Examined();
    EXPECT_THAT(findings, ElementsAre(Field(&Finding::code, "DriverMissing")));
    return findings.empty() ? "" : findings[0].remedy;
  };
  node().labels["nvidia.com/gpu.deploy.driver"] = "true";
  EXPECT_THAT(remedy(), HasSubstr("driver image in the ClusterPolicy"));
  cluster_.policies = {
      PolicyFrom(*ParseJson(R"({"spec": {"driver": {"useNvidiaDriverCRD": true}}})"))};
  EXPECT_THAT(remedy(), HasSubstr("create an NVIDIADriver"));
  EXPECT_THAT(Examined()[0].message, HasSubstr("no NVIDIADriver selects it"));
  node().labels["nvidia.com/gpu-operator.driver.owner"] = "t4";
  EXPECT_THAT(remedy(), HasSubstr("NVIDIADriver t4"));
  // It is to bring a driver of its own.
  node().labels["nvidia.com/gpu.deploy.driver"] = "pre-installed";
  EXPECT_THAT(remedy(), HasSubstr("install NVIDIA's driver on the node"));
  node().labels["nvidia.com/gpu.deploy.driver"] = "true";
  cluster_.policies = {PolicyFrom(
      *ParseJson(R"({"spec": {"driver": {"enabled": false, "useNvidiaDriverCRD": true}}})"))};
  EXPECT_THAT(remedy(), HasSubstr("install NVIDIA's driver on the node"));
}

// NVIDIA's driver container shows its files when it is done: until then the driver is missing.
TEST_F(NodeLacks, ADriverThatAContainerBrings) {
  node().labels["nvidia.com/gpu.deploy.driver"] = "true";
  cluster_.operands = {{.ns = "gpu-operator",
                        .name = "nvidia-driver-daemonset",
                        .choice = {.labels = {{"nvidia.com/gpu.deploy.driver", "true"}}}}};
  for (const char* word : {"DriverMissing", "DriverContainerNotReady"}) {
    node().labels["nvidia.com/gpu.validation"] = word;
    cluster_.drivers_begun = {{"n1", Rfc3339(cluster_.now - minutes(19))}};
    EXPECT_EQ(CodeOf(), "DriverContainerNotReady");
    EXPECT_EQ(Examined()[0].severity, Severity::kNote);
    cluster_.drivers_begun = {{"n1", Rfc3339(cluster_.now - minutes(21))}};
    EXPECT_EQ(CodeOf(), "DriverContainerNotReady");
    EXPECT_EQ(Examined()[0].severity, Severity::kProblem);
  }
  // Other words, and nodes that get no container, are as they are.
  node().labels["nvidia.com/gpu.validation"] = "GpuBoundToNouveau";
  EXPECT_EQ(CodeOf(), "GpuBoundToNouveau");
  node().labels["nvidia.com/gpu.validation"] = "DriverMissing";
  node().labels["nvidia.com/gpu.deploy.driver"] = "pre-installed";
  EXPECT_EQ(CodeOf(), "DriverMissing");
  // Gantry's validator does not report it.
  node().labels["nvidia.com/gpu.deploy.driver"] = "true";
  for (const char* label : {"nvidia.com/gpu.validation", "nvidia.com/gpu.deploy.operator-validator",
                            "nvidia.com/cuda.driver-version.full"}) {
    node().labels.erase(label);
  }
  node().capacity = {};
  EXPECT_EQ(CodeOf(), "DriverContainerNotReady");
  EXPECT_FALSE(Stage().unsettled);
  cluster_.drivers_begun = {{"n1", Rfc3339(cluster_.now - minutes(19))}};
  EXPECT_TRUE(Stage().unsettled);
}

// The operand's own finding has the cause.
TEST_F(NodeLacks, WhatFollowsFromAnOperand) {
  const auto besides = [this](const char* word, const char* object, std::set<std::string> nodes) {
    node().labels["nvidia.com/gpu.validation"] = word;
    std::vector<Finding> findings = {Of("ImageMissing", object, std::move(nodes))};
    ExamineNodes(StagedCluster(cluster_), findings);
    return findings.size() == 1 ? "" : findings[1].code;
  };
  cluster_.operands = {{.ns = "a", .name = "nvidia-driver-daemonset"},
                       {.ns = "a", .name = "nvidia-device-plugin-daemonset"}};
  constexpr char kDriver[] = "DaemonSet a/nvidia-driver-daemonset";
  constexpr char kPlugin[] = "DaemonSet a/nvidia-device-plugin-daemonset";
  EXPECT_EQ(besides("DriverMissing", kDriver, {"n1", "n2"}), "");
  EXPECT_EQ(besides("DriverMissing", kDriver, {"n2"}), "DriverContainerNotReady");
  EXPECT_EQ(besides("DriverMissing", kPlugin, {"n1"}), "DriverContainerNotReady");
  EXPECT_EQ(besides("DriverMissing", kDriver, {}), "");  // of all nodes
  EXPECT_EQ(besides("DriverMissing", "DaemonSet b/nvidia-driver-daemonset", {}),
            "DriverContainerNotReady");
  EXPECT_EQ(besides("NoGpuAllocatable", kPlugin, {"n1"}), "");
  EXPECT_EQ(besides("NoGpuAllocatable", kPlugin, {"n2"}), "NoGpuAllocatable");
  EXPECT_EQ(besides("NoGpuAllocatable", kDriver, {"n1"}), "NoGpuAllocatable");
  EXPECT_EQ(besides("CdiMissing", kPlugin, {"n1"}), "CdiMissing");
}

// The validator is quicker than the device plugin.
TEST_F(NodeLacks, ADevicePluginThatHasNotRegisteredYet) {
  node().labels["nvidia.com/gpu.validation"] = "NoGpuAllocatable";
  node().made_at = Rfc3339(cluster_.now - minutes(2));
  EXPECT_EQ(CodeOf(), "");
  node().made_at = Rfc3339(cluster_.now - minutes(4));
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
  cluster_.operands = {
      {.name = "nvidia-device-plugin-daemonset", .made_at = Rfc3339(cluster_.now - minutes(2))}};
  EXPECT_EQ(CodeOf(), "");
  cluster_.operands[0].made_at = Rfc3339(cluster_.now - minutes(4));
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
}

TEST_F(NodeLacks, WhyADevicePluginOffersNothing) {
  node().labels["nvidia.com/gpu.validation"] = "NoGpuAllocatable";
  node().not_offered = "GPU 3 (A100): is in MIG mode, and MIG_STRATEGY is none";
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
  EXPECT_THAT(Examined()[0].message, HasSubstr("GPU 3 (A100): is in MIG mode"));
  EXPECT_EQ(Examined()[0].remedy, reasons::kNoGpuAllocatable.remedy);
  node().not_offered_for = reasons::kNvmlNotUsable.code;
  EXPECT_EQ(Examined()[0].remedy, reasons::kNvmlNotUsable.remedy);
}

TEST_F(NodeLacks, ADevicePluginThatRefusesItsSettings) {
  node().not_offered = "sharing.mps: can't be had with the MIG strategy mixed; no GPU is offered";
  node().not_offered_for = reasons::kInvalidDevicePluginConfig.code;
  EXPECT_EQ(CodeOf(), "");  // the last good ones are in force
  for (const char* word : {"NoGpuAllocatable", "ready"}) {
    // Of a device plugin that was started anew the kubelet still shows the GPUs.
    node().labels["nvidia.com/gpu.validation"] = word;
    node().allocatable["nvidia.com/gpu"] = 0;
    EXPECT_EQ(CodeOf(), "PluginConfigInvalid") << word;
    EXPECT_EQ(Examined()[0].object, "node n1");
    EXPECT_THAT(Examined()[0].message, HasSubstr("sharing.mps"));
    // A configuration's own finding says it; that of another one does not.
    cluster_.configs = {{.key = "any", .mistake = "can't be had with the MIG strategy mixed"}};
    EXPECT_EQ(CodeOf(), "");
    cluster_.configs = {{.key = "any", .mistake = "unknown field x"}};
    EXPECT_EQ(CodeOf(), "PluginConfigInvalid");
    cluster_.configs.reset();
    for (const auto& [where, told] :
         {std::pair("", true), std::pair("n1", true), std::pair("n2", false)}) {
      std::vector<Finding> findings = {Problem("PluginConfigUnknown", "x", "", "")};
      if (*where != '\0') {
        findings[0].nodes = {where};
      }
      ExamineNodes(StagedCluster(cluster_), findings);
      EXPECT_EQ(findings.size(), told ? 1U : 2U) << where;
    }
  }
  // Its condition names GPUs that are ill.
  node().gpus_out = "GPU-1 is out of service: XID 79";
  EXPECT_EQ(CodeOf(), "GpusUnhealthy");
}

}  // namespace
}  // namespace gantry::doctor
