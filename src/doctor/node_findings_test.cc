// SPDX-License-Identifier: Apache-2.0
#include "doctor/node_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/names.h"

namespace gantry::doctor {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kState[] = "nvidia.com/mig.config.state";
constexpr char kUpgrade[] = "nvidia.com/gpu-driver-upgrade-state";

// A GPU node on which all is well, and a moment.
class NodeFindings : public ::testing::Test {
 protected:
  NodeFindings() {
    cluster_.now = WallTime(hours(24 * 365 * 56));
    NodeFacts node;
    node.name = "n1";
    node.ready = true;
    node.labels = {{"nvidia.com/gpu.present", "true"},
                   {"nvidia.com/gpu.product", "A100"},
                   {"nvidia.com/gpu.validation", "ready"},
                   {"nvidia.com/gpu.deploy.gpu-feature-discovery", "true"},
                   {"nvidia.com/gpu.deploy.device-plugin", "true"},
                   {"nvidia.com/gpu.deploy.operator-validator", "true"},
                   {"nvidia.com/cuda.driver-version.full", "535.1"}};
    node.capacity = {{"nvidia.com/gpu", 8}};
    node.allocatable = node.capacity;
    cluster_.nodes = {node};
  }
  std::vector<Finding> Examined() const {
    std::vector<Finding> findings;
    ExamineNodes(cluster_, findings);
    return findings;
  }
  std::string CodeOf() const {
    const std::vector<Finding> findings = Examined();
    EXPECT_LE(findings.size(), 1U);
    return findings.empty() ? "" : findings[0].code;
  }
  NodeFacts& node() { return cluster_.nodes[0]; }
  // Where some are still offered, or the node's condition names one.
  void ExpectThatIllGpusAreTold() {
    node().allocatable["nvidia.com/gpu"] = 7;
    EXPECT_EQ(CodeOf(), "GpusUnhealthy");
    node().allocatable["nvidia.com/gpu"] = 0;
    node().gpus_out = "GPU-1 is out of service: XID 79";
    EXPECT_EQ(CodeOf(), "GpusUnhealthy");
  }
  // The label was written that long ago.
  void Write(NodeFacts& node, const char* label, const char* value, minutes ago) const {
    node.labels[label] = value;
    node.written[label] = Rfc3339(cluster_.now - ago);
  }

  ClusterFacts cluster_;
};

TEST_F(NodeFindings, NothingIsWrong) {
  EXPECT_THAT(Examined(), IsEmpty());
  EXPECT_EQ(StageOf(cluster_, node()), "ready");
}

TEST_F(NodeFindings, ANodeWithoutGpusIsNoConcern) {
  node().labels = {};
  node().ready = false;
  EXPECT_THAT(Examined(), IsEmpty());
}

TEST_F(NodeFindings, Op1469_GpusThatAreGoneAreTold) {
  node().labels = {{"nvidia.com/gpu.present", "false"}};
  EXPECT_EQ(CodeOf(), "GpusGone");
  EXPECT_THAT(Examined()[0].remedy, HasSubstr("kubectl label node n1 nvidia.com/gpu.present-"));
  // Its label has come back, in another form, and the operator has not acted on it yet.
  node().labels["feature.node.kubernetes.io/pci-0302_10de_1eb8.present"] = "true";
  EXPECT_NE(CodeOf(), "GpusGone");
  EXPECT_TRUE(HasGpu(node()));
}

// Every word of the validator is a code, with words of its own.
TEST_F(NodeFindings, WhatTheValidatorSays) {
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
                             "RuntimeNeedsRestart",
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
    EXPECT_EQ(StageOf(cluster_, node()), reason);
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
  EXPECT_EQ(StageOf(cluster_, node()), "switched off");
}

TEST_F(NodeFindings, ANodeThatIsNotReady) {
  node().ready = false;
  struct Case {
    const char* words;
    const char* code;
  };
  for (const auto& [words, code] : std::initializer_list<Case>{
           {"container runtime is down", "RuntimeDown"},
           {"[container runtime not ready: RuntimeReady=false]", "RuntimeDown"},
           {"PLEG is not healthy: pleg was last seen active 5m ago", "RuntimeDown"},
           {"[container runtime status check may not have completed yet]", "RuntimeDown"},
           {"container runtime network not ready: NetworkReady=false "
            "reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not "
            "initialized",
            "NodeNotReady"},
           {"Kubelet stopped posting node status.", "NodeNotReady"},
           {"", "NodeNotReady"}}) {
    node().why_not_ready = words;
    EXPECT_EQ(CodeOf(), code) << words;
  }
  EXPECT_EQ(StageOf(cluster_, node()), "node not ready");
}

// A node that comes or goes is no trouble; one whose runtime is down is.
TEST_F(NodeFindings, ANodeThatIsNotReadyForAWhile) {
  const auto severity = [this] {
    const std::vector<Finding> findings = Examined();
    EXPECT_THAT(findings, ElementsAre(Field(&Finding::code, "NodeNotReady")));
    return findings.at(0).severity;
  };
  const Taint passing = {.key = "node.cilium.io/agent-not-ready", .value = "", .effect = ""};
  node().ready = false;
  node().why_not_ready = "Kubelet never posted node status.";
  node().made_at = Rfc3339(cluster_.now - minutes(2));
  EXPECT_EQ(severity(), Severity::kNote);
  EXPECT_THAT(Examined()[0].remedy, HasSubstr("being started"));
  node().made_at = Rfc3339(cluster_.now - minutes(14));
  EXPECT_EQ(severity(), Severity::kProblem);
  node().taints = {passing};
  EXPECT_EQ(severity(), Severity::kNote);
  node().why_not_ready = "Kubelet stopped posting node status.";
  EXPECT_EQ(severity(), Severity::kProblem);
  node().why_not_ready = "container runtime network not ready: cni plugin not initialized";
  EXPECT_EQ(severity(), Severity::kNote);
  // An agent that never comes.
  node().made_at = Rfc3339(cluster_.now - minutes(16));
  EXPECT_EQ(severity(), Severity::kProblem);
  node().leaving = true;
  EXPECT_EQ(severity(), Severity::kNote);
  EXPECT_THAT(Examined()[0].remedy, HasSubstr("taken away"));
  node().why_not_ready = "container runtime is down";
  EXPECT_EQ(CodeOf(), "RuntimeDown");
  EXPECT_EQ(Examined()[0].severity, Severity::kProblem);
}

TEST_F(NodeFindings, GpusThatAreNotOffered) {
  node().allocatable["nvidia.com/gpu"] = 6;
  node().gpus_out = "GPU-1 is out of service: XID 79";
  EXPECT_EQ(CodeOf(), "GpusUnhealthy");
  EXPECT_THAT(Examined()[0].message, HasSubstr("2 of its 8 GPUs are unhealthy: GPU-1 is out"));
  EXPECT_EQ(StageOf(cluster_, node()), "GPUs unhealthy");
  node().capacity = {};
  node().allocatable = {};
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
  EXPECT_EQ(StageOf(cluster_, node()), "device plugin");
  node().labels.erase("nvidia.com/cuda.driver-version.full");
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");  // the validator has found a driver
  // Our validator has not looked yet; NVIDIA's says nothing.
  node().labels.erase("nvidia.com/gpu.validation");
  EXPECT_EQ(CodeOf(), "");
  node().labels.erase("nvidia.com/gpu.deploy.operator-validator");
  EXPECT_EQ(CodeOf(), "DriverMissing");
  EXPECT_EQ(StageOf(cluster_, node()), "driver");
  node().made_at = Rfc3339(cluster_.now - minutes(1));
  EXPECT_EQ(CodeOf(), "");
}

// The kubelet shows for some minutes more what a device plugin offered.
TEST_F(NodeFindings, ADevicePluginThatWasSwitchedOff) {
  node().allocatable["nvidia.com/gpu"] = 0;
  EXPECT_EQ(CodeOf(), "GpusUnhealthy");
  node().labels["nvidia.com/gpu.deploy.device-plugin"] = "false";
  EXPECT_EQ(CodeOf(), "");
  EXPECT_EQ(StageOf(cluster_, node()), "ready");
  node().labels["nvidia.com/gpu.deploy.device-plugin"] = "true";
  cluster_.policies = {PolicyFrom(*ParseJson(R"({"spec": {"devicePlugin": {"enabled": false}}})"))};
  EXPECT_EQ(CodeOf(), "");
  cluster_.policies = {};
  for (const char* value : {"paused-for-driver-upgrade", ""}) {
    node().labels["nvidia.com/gpu.deploy.device-plugin"] = value;
    EXPECT_EQ(CodeOf(), "") << value;
  }
  node().labels["nvidia.com/gpu.deploy.device-plugin"] = "false";
  // Another's device plugin offers some of them; the node's condition names one.
  ExpectThatIllGpusAreTold();
}

// The device plugin does not run, and its own finding says why; or it is exchanged.
TEST_F(NodeFindings, GpusOfADevicePluginThatDoesNotRun) {
  node().allocatable["nvidia.com/gpu"] = 0;
  cluster_.operands = {{.space = "a", .name = "nvidia-device-plugin-daemonset"}};
  std::vector<Finding> findings = {
      Problem("OperandCrashing", "DaemonSet nvidia-device-plugin-daemonset on n1", "", "")};
  findings[0].nodes = {"n1"};
  ExamineNodes(cluster_, findings);
  EXPECT_EQ(findings.size(), 1U);
  findings[0].nodes = {"n2"};
  ExamineNodes(cluster_, findings);
  EXPECT_EQ(findings.size(), 2U);
  EXPECT_EQ(CodeOf(), "GpusUnhealthy");
  cluster_.operands[0].young = {"n1"};
  EXPECT_EQ(CodeOf(), "");
  // Some of them, or one that the node's condition names, are ill all the same.
  ExpectThatIllGpusAreTold();
}

// The validator misses what nobody is to offer.
TEST_F(NodeFindings, ADevicePluginThatTheValidatorMisses) {
  node().labels["nvidia.com/gpu.validation"] = "NoGpuAllocatable";
  node().capacity = {};
  node().allocatable = {};
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
  node().labels["nvidia.com/gpu.deploy.device-plugin"] = "false";
  EXPECT_EQ(CodeOf(), "");
  EXPECT_EQ(StageOf(cluster_, node()), "ready");
  node().labels["nvidia.com/gpu.deploy.device-plugin"] = "true";
  cluster_.policies = {PolicyFrom(*ParseJson(R"({"spec": {"devicePlugin": {"enabled": false}}})"))};
  EXPECT_EQ(CodeOf(), "");
  // Another word is another matter.
  node().labels["nvidia.com/gpu.validation"] = "DriverHangs";
  EXPECT_EQ(CodeOf(), "DriverHangs");
}

TEST_F(NodeFindings, APauseThatNobodyTookBack) {
  constexpr char kPlugin[] = "nvidia.com/gpu.deploy.device-plugin";
  node().allocatable["nvidia.com/gpu"] = 0;
  cluster_.operands = {{.space = "a", .name = "nvidia-driver-daemonset"}};
  for (const char* word : {"ready", "NoGpuAllocatable"}) {
    node().labels["nvidia.com/gpu.validation"] = word;
    for (const char* value : {"paused-for-driver-upgrade", "true_paused-for-driver-upgrade"}) {
      Write(node(), kPlugin, value, minutes(59));
      EXPECT_EQ(CodeOf(), "");
      EXPECT_EQ(PluginOffBy(cluster_, node()), "");
      Write(node(), kPlugin, value, minutes(61));
      EXPECT_EQ(CodeOf(), "OperandsPaused");
      EXPECT_EQ(PluginOffBy(cluster_, node()), std::string("label ") + kPlugin + "=" + value);
    }
  }
  // The driver's own finding says more; an upgrade is under way; nobody knows since when.
  std::vector<Finding> findings = {
      Problem("DriverContainerFails", "DaemonSet nvidia-driver-daemonset on n1", "", "")};
  findings[0].nodes = {"n1"};
  ExamineNodes(cluster_, findings);
  EXPECT_EQ(findings.size(), 1U);
  EXPECT_EQ(CodeOf(), "OperandsPaused");
  Write(node(), kUpgrade, "drain-required", minutes(1));
  EXPECT_EQ(CodeOf(), "");
  node().labels.erase(kUpgrade);
  node().written.clear();
  EXPECT_EQ(CodeOf(), "");
}

// No manager is left that would take it back.
TEST_F(NodeFindings, APauseThatNobodyCanTakeBack) {
  constexpr char kPlugin[] = "nvidia.com/gpu.deploy.device-plugin";
  node().allocatable["nvidia.com/gpu"] = 0;
  Write(node(), kPlugin, "paused-for-driver-upgrade", minutes(2));
  EXPECT_EQ(CodeOf(), "");
  Write(node(), kPlugin, "paused-for-driver-upgrade", minutes(4));
  EXPECT_EQ(CodeOf(), "OperandsPaused");
  EXPECT_THAT(Examined()[0].message, HasSubstr("a driver's upgrade"));
  // Who may not see DaemonSets does not know.
  cluster_.unread = {
      {.what = kDaemonSetsPart, .error = {.kind = ErrorKind::kDenied, .message = ""}}};
  EXPECT_EQ(CodeOf(), "");
}

TEST_F(NodeFindings, APauseOfTheMigManager) {
  constexpr char kPlugin[] = "nvidia.com/gpu.deploy.device-plugin";
  node().allocatable["nvidia.com/gpu"] = 0;
  cluster_.operands = {{.space = "a", .name = "nvidia-driver-daemonset"}};
  Write(node(), kPlugin, "paused-for-mig-change", minutes(2));
  EXPECT_EQ(CodeOf(), "");
  EXPECT_EQ(PluginOffBy(cluster_, node()), "");
  for (const char* state : {"", "success"}) {
    Write(node(), kState, state, minutes(4));
    Write(node(), kPlugin, "paused-for-mig-change", minutes(4));
    EXPECT_EQ(CodeOf(), "OperandsPaused") << state;
    EXPECT_THAT(Examined()[0].message, HasSubstr("a change of its MIG layout"));
    EXPECT_NE(PluginOffBy(cluster_, node()), "");
  }
  Write(node(), kState, "pending", minutes(4));
  EXPECT_EQ(CodeOf(), "");
}

// NVIDIADrivers bring the drivers: an image in the policy brings none.
TEST_F(NodeFindings, ADriverThatNoNvidiaDriverBrings) {
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

// Without a verdict labels are not missed yet either.
TEST_F(NodeFindings, ANodeThatWasJustTakenIn) {
  node().labels.erase("nvidia.com/gpu.validation");
  node().labels.erase("nvidia.com/gpu.product");
  EXPECT_EQ(CodeOf(), "");
  EXPECT_TRUE(IsUnfinished(cluster_, node()));
  EXPECT_FALSE(MayOfferYet(cluster_, node()));
  node().capacity = {};
  EXPECT_TRUE(MayOfferYet(cluster_, node()));
  node().labels["nvidia.com/gpu.validation"] = "ready";
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
  EXPECT_FALSE(IsUnfinished(cluster_, node()));
  EXPECT_FALSE(MayOfferYet(cluster_, node()));
  Write(node(), kState, "pending", minutes(1));
  EXPECT_TRUE(MayOfferYet(cluster_, node()));
}

// NVIDIA's driver container shows its files when it is done: until then the driver is missing.
TEST_F(NodeFindings, ADriverThatAContainerBrings) {
  node().labels["nvidia.com/gpu.deploy.driver"] = "true";
  cluster_.operands = {{.space = "gpu-operator",
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
  // No validator of ours says it.
  node().labels["nvidia.com/gpu.deploy.driver"] = "true";
  for (const char* label : {"nvidia.com/gpu.validation", "nvidia.com/gpu.deploy.operator-validator",
                            "nvidia.com/cuda.driver-version.full"}) {
    node().labels.erase(label);
  }
  node().capacity = {};
  EXPECT_EQ(CodeOf(), "DriverContainerNotReady");
  EXPECT_FALSE(IsUnsettled(cluster_, node()));
  cluster_.drivers_begun = {{"n1", Rfc3339(cluster_.now - minutes(19))}};
  EXPECT_TRUE(IsUnsettled(cluster_, node()));
}

// The operand's own finding has the cause.
TEST_F(NodeFindings, WhatFollowsFromAnOperand) {
  const auto besides = [this](const char* word, const char* object, std::set<std::string> nodes) {
    node().labels["nvidia.com/gpu.validation"] = word;
    std::vector<Finding> findings = {Problem("ImageMissing", object, "", "")};
    findings[0].nodes = std::move(nodes);
    ExamineNodes(cluster_, findings);
    return findings.size() == 1 ? "" : findings[1].code;
  };
  cluster_.operands = {{.space = "a", .name = "nvidia-driver-daemonset"},
                       {.space = "a", .name = "nvidia-device-plugin-daemonset"}};
  constexpr char kDriver[] = "DaemonSet nvidia-driver-daemonset on n1, n2";
  constexpr char kPlugin[] = "DaemonSet nvidia-device-plugin-daemonset on n1, n2";
  EXPECT_EQ(besides("DriverMissing", kDriver, {"n1", "n2"}), "");
  EXPECT_EQ(besides("DriverMissing", kDriver, {"n2"}), "DriverContainerNotReady");
  EXPECT_EQ(besides("DriverMissing", kPlugin, {"n1"}), "DriverContainerNotReady");
  EXPECT_EQ(besides("DriverMissing", "DaemonSet a/nvidia-driver-daemonset", {}), "");
  EXPECT_EQ(besides("NoGpuAllocatable", kPlugin, {"n1"}), "");
  EXPECT_EQ(besides("NoGpuAllocatable", kPlugin, {"n2"}), "NoGpuAllocatable");
  EXPECT_EQ(besides("NoGpuAllocatable", kDriver, {"n1"}), "NoGpuAllocatable");
  EXPECT_EQ(besides("CdiMissing", kPlugin, {"n1"}), "CdiMissing");
}

// The validator is quicker than the device plugin.
TEST_F(NodeFindings, ADevicePluginThatHasNotRegisteredYet) {
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

TEST_F(NodeFindings, WhyADevicePluginOffersNothing) {
  node().labels["nvidia.com/gpu.validation"] = "NoGpuAllocatable";
  node().not_offered = "GPU 3 (A100): is in MIG mode, and MIG_STRATEGY is none";
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
  EXPECT_THAT(Examined()[0].message, HasSubstr("GPU 3 (A100): is in MIG mode"));
}

TEST_F(NodeFindings, ADevicePluginThatRefusesItsSettings) {
  node().not_offered = "sharing.mps: can't be had with the MIG strategy mixed; no GPU is offered";
  node().not_offered_for = kSettingsRefused;
  EXPECT_EQ(CodeOf(), "");  // the last good ones are in force
  for (const char* word : {"NoGpuAllocatable", "ready"}) {
    // Of a device plugin that was started anew the kubelet still shows the GPUs.
    node().labels["nvidia.com/gpu.validation"] = word;
    node().allocatable["nvidia.com/gpu"] = 0;
    EXPECT_EQ(CodeOf(), "PluginConfigInvalid") << word;
    EXPECT_EQ(Examined()[0].object, "node n1");
    EXPECT_THAT(Examined()[0].message, HasSubstr("sharing.mps"));
    // A configuration's own finding says it; another's does not.
    cluster_.configs = {{.key = "any", .mistake = "can't be had with the MIG strategy mixed"}};
    EXPECT_EQ(CodeOf(), "");
    cluster_.configs = {{.key = "any", .mistake = "unknown field x"}};
    EXPECT_EQ(CodeOf(), "PluginConfigInvalid");
    cluster_.configs.reset();
    for (const auto& [object, told] : {std::pair("ClusterPolicy p", true),
                                       std::pair("node n1", true), std::pair("node n2", false)}) {
      std::vector<Finding> findings = {Problem("PluginConfigUnknown", object, "", "")};
      ExamineNodes(cluster_, findings);
      EXPECT_EQ(findings.size(), told ? 1U : 2U) << object;
    }
  }
  // Its condition names GPUs that are ill.
  node().gpus_out = "GPU-1 is out of service: XID 79";
  EXPECT_EQ(CodeOf(), "GpusUnhealthy");
}

TEST_F(NodeFindings, AMigLayoutThatNobodyMakes) {
  node().labels["nvidia.com/mig.config"] = "all-1g.10gb";
  EXPECT_EQ(CodeOf(), "MigNotManaged");
  EXPECT_THAT(Examined()[0].remedy, HasSubstr("migManager"));
  node().labels["nvidia.com/mig.capable"] = "false";
  EXPECT_EQ(CodeOf(), "MigNotManaged");
  EXPECT_THAT(Examined()[0].remedy, HasSubstr("nvidia.com/mig.config-"));
  node().labels["nvidia.com/mig.config"] = "all-disabled";
  EXPECT_EQ(CodeOf(), "");
  node().labels["nvidia.com/mig.config"] = "all-1g.10gb";
  node().labels[kState] = "success";
  EXPECT_EQ(CodeOf(), "");
  node().labels.erase(kState);
  // Who may not see DaemonSets does not know.
  cluster_.unread = {
      {.what = kDaemonSetsPart, .error = {.kind = ErrorKind::kDenied, .message = ""}}};
  EXPECT_EQ(CodeOf(), "");
  cluster_.unread = {};
  cluster_.operands = {{.name = "nvidia-mig-manager",
                        .choice = {.labels = {{"nvidia.com/gpu.deploy.mig-manager", "true"}}}}};
  EXPECT_EQ(CodeOf(), "MigNotManaged");
  node().labels["nvidia.com/gpu.deploy.mig-manager"] = "true";
  EXPECT_EQ(CodeOf(), "");
}

TEST_F(NodeFindings, GpusThatNobodyIsToOfferOrLabel) {
  node().capacity = {};
  node().allocatable = {};
  node().labels.erase("nvidia.com/gpu.product");
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
  cluster_.policies = {PolicyFrom(*ParseJson(R"({"spec": {"devicePlugin": {"enabled": false}}})"))};
  EXPECT_EQ(CodeOf(), "LabelsMissing");
  cluster_.policies[0].labels_gpus = false;
  EXPECT_EQ(CodeOf(), "");
  cluster_.policies[0].state = "ignored";
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
  cluster_.policies = {PolicyFrom(*ParseJson(R"({"spec": {"gfd": {"enabled": false}}})"))};
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
  // A switch for one node, and a node for virtual machines.
  node().labels["nvidia.com/gpu.deploy.device-plugin"] = "false";
  EXPECT_EQ(CodeOf(), "");
  node().labels.erase("nvidia.com/gpu.deploy.device-plugin");
  EXPECT_EQ(CodeOf(), "");
}

// Is it the node's own doing that a pod on it is not ready?
TEST_F(NodeFindings, NodesThatAreNotSettled) {
  struct Case {
    const char* what;
    void (*change)(NodeFacts& node);
    bool unsettled;
  };
  const NodeFacts well = node();
  for (const auto& [what, change, unsettled] : std::initializer_list<Case>{
           {"all is well", [](NodeFacts& /*node*/) {}, false},
           {"not validated",
            [](NodeFacts& node) { node.labels.erase("nvidia.com/gpu.validation"); }, false},
           {"not ready", [](NodeFacts& node) { node.ready = false; }, true},
           {"found wanting",
            [](NodeFacts& node) { node.labels["nvidia.com/gpu.validation"] = "DriverMissing"; },
            true},
           {"MIG", [](NodeFacts& node) { node.labels[kState] = "pending"; }, true},
           {"upgrade", [](NodeFacts& node) { node.labels[kUpgrade] = "drain-required"; }, true},
           {"waits for its turn",
            [](NodeFacts& node) { node.labels[kUpgrade] = "upgrade-required"; }, false}}) {
    NodeFacts changed = well;
    change(changed);
    EXPECT_EQ(IsUnsettled(cluster_, changed), unsettled) << what;
  }
  node().made_at = Rfc3339(cluster_.now - minutes(2));
  EXPECT_TRUE(IsUnsettled(cluster_, node()));
  node().made_at = Rfc3339(cluster_.now - minutes(4));
  EXPECT_FALSE(IsUnsettled(cluster_, node()));
}

TEST_F(NodeFindings, LabelsOfItsGpus) {
  node().labels["nvidia.com/gpu.product"] = "A100-MIG-INVALID";
  EXPECT_EQ(CodeOf(), "MigLayoutsDiffer");
  // The plugin offers none of them.
  node().labels["nvidia.com/gpu.validation"] = "NoGpuAllocatable";
  EXPECT_EQ(CodeOf(), "MigLayoutsDiffer");
  node().labels["nvidia.com/gpu.validation"] = "DriverHangs";
  EXPECT_EQ(CodeOf(), "DriverHangs");
  node().labels["nvidia.com/gpu.validation"] = "ready";
  node().labels.erase("nvidia.com/gpu.product");
  EXPECT_EQ(CodeOf(), "LabelsMissing");
  EXPECT_EQ(StageOf(cluster_, node()), "labels");
  // Nobody is to make them.
  node().labels.erase("nvidia.com/gpu.deploy.gpu-feature-discovery");
  EXPECT_THAT(Examined(), IsEmpty());
  node().labels.erase("nvidia.com/gpu.validation");
  EXPECT_EQ(StageOf(cluster_, node()), "validation");
}

// NVIDIA's validator says nothing on the node.
TEST_F(NodeFindings, AStageThatNobodyTellsIsNotWaitedFor) {
  const auto validator = [&](const char* env) {
    Json set = *ParseJson(R"({"metadata": {"name": "nvidia-operator-validator", "labels": {}},
        "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}})");
    set["metadata"]["labels"][names::kManagedBy] = names::kManagedByGantry;
    set["spec"]["template"]["spec"]["containers"][0]["env"] = *ParseJson(env);
    cluster_.operands = {OperandFrom(set).value()};
  };
  node().labels.erase("nvidia.com/gpu.validation");
  validator(R"([{"name": "PUBLISH", "value": "true"}])");
  EXPECT_EQ(StageOf(cluster_, node()), "validation");
  validator("[]");
  EXPECT_EQ(StageOf(cluster_, node()), "ready");
  // Switched off, on the node or in the policy.
  validator(R"([{"name": "PUBLISH", "value": "true"}])");
  node().labels["nvidia.com/gpu.deploy.operator-validator"] = "false";
  EXPECT_EQ(StageOf(cluster_, node()), "ready");
  node().capacity = {};
  node().allocatable = {};
  cluster_.policies = {PolicyFrom(*ParseJson(R"({"spec": {"devicePlugin": {"enabled": false}}})"))};
  EXPECT_EQ(StageOf(cluster_, node()), "ready");
  // Nothing was put on it yet.
  node().labels = {{"nvidia.com/gpu.present", "true"}};
  EXPECT_EQ(StageOf(cluster_, node()), "driver");
}

TEST_F(NodeFindings, StagesOfANodeForVirtualMachines) {
  for (const char* plugin : {"sandbox-device-plugin", "kata-sandbox-device-plugin"}) {
    node().labels = {{"nvidia.com/gpu.present", "true"},
                     {"nvidia.com/gpu.deploy.sandbox-validator", "true"},
                     {std::string("nvidia.com/gpu.deploy.") + plugin, "true"}};
    node().capacity = {};
    node().allocatable = {};
    EXPECT_EQ(StageOf(cluster_, node()), "device plugin");
    node().capacity = {{"nvidia.com/GA102GL_A10", 2}};
    node().allocatable = node().capacity;
    EXPECT_EQ(StageOf(cluster_, node()), "ready");
    for (const int left : {0, 1}) {
      node().allocatable = {{"nvidia.com/GA102GL_A10", left}};
      EXPECT_EQ(StageOf(cluster_, node()), "GPUs unhealthy") << left;
    }
  }
}

TEST_F(NodeFindings, AMigLayoutThatIsChanged) {
  node().labels["nvidia.com/mig.config"] = "all-1g.10gb";
  // GPUs are away while it is changed.
  node().capacity = {};
  node().allocatable = {};
  for (const char* state : {"pending", "rebooting"}) {
    Write(node(), kState, state, minutes(14));
    EXPECT_THAT(Examined(), IsEmpty()) << state;
    EXPECT_EQ(StageOf(cluster_, node()), std::string("MIG ") + state);
    Write(node(), kState, state, minutes(16));
    EXPECT_EQ(CodeOf(), "MigChangeStuck") << state;
  }
  // Since when is not known.
  node().written.clear();
  EXPECT_THAT(Examined(), IsEmpty());
  Write(node(), kState, "pending", minutes(600));
  node().holders = {"default/train"};
  EXPECT_EQ(CodeOf(), "MigChangeWaits");
  EXPECT_EQ(Examined()[0].severity, Severity::kNote);
  EXPECT_THAT(Examined()[0].message, HasSubstr("all-1g.10gb"));
  EXPECT_THAT(Examined()[0].message, HasSubstr("default/train"));
  Write(node(), kState, "failed", minutes(0));
  EXPECT_EQ(CodeOf(), "MigChangeFailed");
}

TEST_F(NodeFindings, AMigLayoutThatWasChanged) {
  Write(node(), kState, "success", minutes(600));
  EXPECT_THAT(Examined(), IsEmpty());
  EXPECT_EQ(StageOf(cluster_, node()), "ready");
}

// What the operator says of an upgrade, in the policy's status.
TEST_F(NodeFindings, WhyADriverIsNotUpgradedYet) {
  const auto told = [&](const char* state, const char* reason, minutes deadline_in) {
    Write(node(), kUpgrade, state, minutes(2));
    cluster_.policies = {PolicyFacts{}};
    cluster_.policies[0].upgrades = UpgradesFacts{};
    cluster_.policies[0].upgrades->nodes = {{.node = "n1",
                                             .state = state,
                                             .deadline = Rfc3339(cluster_.now + deadline_in),
                                             .reason = reason}};
    return CodeOf();
  };
  EXPECT_EQ(told("wait-for-jobs-required", "2 pods run", minutes(5)), "DriverUpgradeWaitsForPods");
  EXPECT_EQ(told("drain-required", "1 pods are still there", minutes(5)),
            "DriverUpgradeWaitsForPods");
  EXPECT_EQ(Examined()[0].severity, Severity::kNote);
  EXPECT_THAT(Examined()[0].message, HasSubstr("1 pods are still there"));
  EXPECT_EQ(
      told("pod-deletion-required", "x (would violate the pod's disruption budget)", minutes(5)),
      "DriverUpgradeHeldByBudget");
  EXPECT_EQ(told("validation-required", "the validator is not ready", minutes(5)), "");
  EXPECT_EQ(told("validation-required", "the validator is not ready", minutes(0)), "");
  EXPECT_EQ(told("validation-required", "the validator is not ready", minutes(-2)),
            "DriverUpgradeOverdue");
  EXPECT_EQ(told("upgrade-failed", "more than 10 restarts", minutes(-2)), "DriverUpgradeFailed");
  EXPECT_THAT(Examined()[0].message, HasSubstr("more than 10 restarts"));
  // Older than an hour, and time alone ends it.
  told("wait-for-jobs-required", "2 pods run", minutes(600));
  Write(node(), kUpgrade, "wait-for-jobs-required", minutes(61));
  EXPECT_EQ(CodeOf(), "DriverUpgradeWaitsForPods");
  // Who waits for its turn meanwhile is no trouble either.
  NodeFacts other = node();
  other.name = "n2";
  Write(other, kUpgrade, "upgrade-required", minutes(61));
  cluster_.nodes.push_back(other);
  EXPECT_EQ(CodeOf(), "DriverUpgradeWaitsForPods");
  cluster_.nodes.pop_back();
  // A wait without an end, and words about another state than that of now.
  Write(node(), kUpgrade, "drain-required", minutes(61));
  EXPECT_EQ(CodeOf(), "DriverUpgradeStuck");
  Write(node(), kUpgrade, "drain-required", minutes(2));
  EXPECT_EQ(CodeOf(), "");
}

TEST_F(NodeFindings, ANodeThatAnUpgradeLeftCordoned) {
  node().cordoned = true;
  EXPECT_EQ(CodeOf(), "");
  node().upgrade_cordon = true;
  EXPECT_EQ(CodeOf(), "NodeLeftCordoned");
  Write(node(), kUpgrade, "upgrade-done", minutes(1));
  EXPECT_EQ(CodeOf(), "NodeLeftCordoned");
  Write(node(), kUpgrade, "pod-restart-required", minutes(1));
  EXPECT_EQ(CodeOf(), "");
  Write(node(), kUpgrade, "", minutes(1));
  node().cordoned = false;
  EXPECT_EQ(CodeOf(), "");
}

TEST_F(NodeFindings, ADriverThatIsUpgraded) {
  node().capacity = {};
  node().allocatable = {};
  for (const char* state :
       {"cordon-required", "wait-for-jobs-required", "pod-deletion-required", "drain-required",
        "pod-restart-required", "validation-required", "uncordon-required"}) {
    Write(node(), kUpgrade, state, minutes(59));
    EXPECT_THAT(Examined(), IsEmpty()) << state;
    EXPECT_EQ(StageOf(cluster_, node()), std::string("driver ") + state);
    Write(node(), kUpgrade, state, minutes(61));
    EXPECT_EQ(CodeOf(), "DriverUpgradeStuck") << state;
  }
  Write(node(), kUpgrade, "upgrade-failed", minutes(0));
  EXPECT_EQ(CodeOf(), "DriverUpgradeFailed");
  // It is done, and what is wrong now is told.
  Write(node(), kUpgrade, "upgrade-done", minutes(600));
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
}

TEST_F(NodeFindings, ADriverThatWaitsForItsTurn) {
  Write(node(), kUpgrade, "upgrade-required", minutes(59));
  EXPECT_THAT(Examined(), IsEmpty());
  Write(node(), kUpgrade, "upgrade-required", minutes(61));
  EXPECT_EQ(CodeOf(), "DriverUpgradeStuck");
  NodeFacts other = node();
  other.name = "n2";
  Write(other, kUpgrade, "drain-required", minutes(10));
  cluster_.nodes.push_back(other);
  EXPECT_THAT(Examined(), IsEmpty());
  // The other one is stuck itself.
  Write(cluster_.nodes[1], kUpgrade, "drain-required", minutes(61));
  EXPECT_THAT(Examined(), ElementsAre(Field(&Finding::code, "DriverUpgradeStuck"),
                                      Field(&Finding::code, "DriverUpgradeStuck")));
}

TEST_F(NodeFindings, ADriverThatIsNotToBeUpgraded) {
  node().labels["nvidia.com/gpu-driver-upgrade.skip"] = "true";
  Write(node(), kUpgrade, "upgrade-required", minutes(61));
  EXPECT_THAT(Examined(), IsEmpty());
  // Its turn had come before.
  Write(node(), kUpgrade, "drain-required", minutes(61));
  EXPECT_EQ(CodeOf(), "DriverUpgradeStuck");
  node().labels["nvidia.com/gpu-driver-upgrade.skip"] = "false";
  Write(node(), kUpgrade, "upgrade-required", minutes(61));
  EXPECT_EQ(CodeOf(), "DriverUpgradeStuck");
}

TEST(NodeFrom, WhatItSaysOfItself) {
  const NodeFacts node = NodeFrom(*ParseJson(R"({
      "metadata": {"name": "n1", "creationTimestamp": "2025-12-31T00:00:00Z",
          "annotations": {"nvidia.com/gpu-operator.driver-upgrade-cordon": "true"}, "managedFields": [
          {"manager": "kubelet", "time": "1", "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}}},
          {"manager": "m", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:metadata": {"f:labels":
              {"f:nvidia.com/mig.config.state": {}}}}}]},
      "spec": {"unschedulable": true},
      "status": {"conditions": [
          {"type": "Ready", "status": "False", "message": "container runtime is down"},
          {"type": "GPUHealthy", "status": "False", "message": "GPU-1 is out"}]}})"));
  EXPECT_FALSE(node.ready);
  EXPECT_EQ(node.why_not_ready, "container runtime is down");
  EXPECT_EQ(node.gpus_out, "GPU-1 is out");
  EXPECT_EQ(node.made_at, "2025-12-31T00:00:00Z");
  EXPECT_TRUE(node.cordoned && node.upgrade_cordon);
  EXPECT_EQ(node.written, (Labels{{"nvidia.com/mig.config.state", "2026-01-01T00:00:00Z"}}));
  EXPECT_FALSE(node.leaving);
}

TEST(NodeFrom, WhetherItIsTakenAway) {
  const auto leaving = [](const char* taint) {
    Json node = {{"metadata", {{"name", "n1"}}}};
    node["spec"]["taints"] = {{{"key", taint}, {"effect", "NoSchedule"}}};
    return NodeFrom(node).leaving;
  };
  for (const char* taint :
       {"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption",
        "cloud.google.com/impending-node-termination", "aws-node-termination-handler/spot-itn"}) {
    EXPECT_TRUE(leaving(taint)) << taint;
  }
  EXPECT_FALSE(leaving("karpenter.sh/unregistered"));
  EXPECT_TRUE(NodeFrom(*ParseJson(R"({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})"))
                  .leaving);
}

}  // namespace
}  // namespace gantry::doctor
