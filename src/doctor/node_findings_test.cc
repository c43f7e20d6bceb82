// SPDX-License-Identifier: Apache-2.0
#include "doctor/node_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/policy_facts.h"
#include "doctor/testing/gpu_node.h"

namespace gantry::doctor {
namespace {

using std::chrono::minutes;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using NodeFindings = GpuNodeTest;

TEST_F(NodeFindings, NothingIsWrong) {
  EXPECT_THAT(Examined(), IsEmpty());
  EXPECT_EQ(StageName(node(), Stage()), "ready");
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

TEST_F(NodeFindings, GpusThatAreNotOffered) {
  node().allocatable["nvidia.com/gpu"] = 6;
  node().gpus_out = "GPU-1 is out of service: XID 79";
  EXPECT_EQ(CodeOf(), "GpusUnhealthy");
  EXPECT_THAT(Examined()[0].message, HasSubstr("2 of its 8 GPUs are unhealthy: GPU-1 is out"));
  EXPECT_EQ(StageName(node(), Stage()), "GPUs unhealthy");
  node().capacity = {};
  node().allocatable = {};
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
  EXPECT_EQ(StageName(node(), Stage()), "device plugin");
  node().labels.erase("nvidia.com/cuda.driver-version.full");
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");  // the validator has found a driver
  // Our validator has not looked yet; NVIDIA's says nothing.
  node().labels.erase("nvidia.com/gpu.validation");
  EXPECT_EQ(CodeOf(), "");
  node().labels.erase("nvidia.com/gpu.deploy.operator-validator");
  EXPECT_EQ(CodeOf(), "DriverMissing");
  EXPECT_EQ(StageName(node(), Stage()), "driver");
  node().made_at = Rfc3339(cluster_.now - minutes(1));
  EXPECT_EQ(CodeOf(), "");
}

// The kubelet shows for some minutes more what a device plugin offered.
TEST_F(NodeFindings, ADevicePluginThatWasSwitchedOff) {
  node().allocatable["nvidia.com/gpu"] = 0;
  EXPECT_EQ(CodeOf(), "GpusUnhealthy");
  node().labels["nvidia.com/gpu.deploy.device-plugin"] = "false";
  EXPECT_EQ(CodeOf(), "");
  EXPECT_EQ(StageName(node(), Stage()), "ready");
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
  cluster_.operands = {{.ns = "a", .name = "nvidia-device-plugin-daemonset"}};
  std::vector<Finding> findings = {
      Of("OperandCrashing", "DaemonSet a/nvidia-device-plugin-daemonset", {"n1"})};
  ExamineNodes(StagedCluster(cluster_), findings);
  EXPECT_EQ(findings.size(), 1U);
  findings[0].nodes = {"n2"};
  ExamineNodes(StagedCluster(cluster_), findings);
  EXPECT_EQ(findings.size(), 2U);
  EXPECT_EQ(CodeOf(), "GpusUnhealthy");
  cluster_.operands[0].young = {"n1"};
  EXPECT_EQ(CodeOf(), "");
  // Some of them, or one that the node's condition names, are ill all the same.
  ExpectThatIllGpusAreTold();
}

TEST_F(NodeFindings, APauseThatNobodyTookBack) {
  constexpr char kPlugin[] = "nvidia.com/gpu.deploy.device-plugin";
  node().allocatable["nvidia.com/gpu"] = 0;
  cluster_.operands = {{.ns = "a", .name = "nvidia-driver-daemonset"}};
  for (const char* word : {"ready", "NoGpuAllocatable"}) {
    node().labels["nvidia.com/gpu.validation"] = word;
    for (const char* value : {"paused-for-driver-upgrade", "true_paused-for-driver-upgrade"}) {
      Write(node(), kPlugin, value, minutes(59));
      EXPECT_EQ(CodeOf(), "");
      EXPECT_EQ(Stage().plugin_off_by, "");
      Write(node(), kPlugin, value, minutes(61));
      EXPECT_EQ(CodeOf(), "OperandsPaused");
      EXPECT_EQ(Stage().plugin_off_by, std::string("label ") + kPlugin + "=" + value);
    }
  }
  // The driver's own finding says more; an upgrade is under way; its start is unknown.
  std::vector<Finding> findings = {
      Of("DriverContainerFails", "DaemonSet a/nvidia-driver-daemonset", {"n1"})};
  ExamineNodes(StagedCluster(cluster_), findings);
  EXPECT_EQ(findings.size(), 1U);
  EXPECT_EQ(CodeOf(), "OperandsPaused");
  Write(node(), kUpgradeState, "drain-required", minutes(1));
  EXPECT_EQ(CodeOf(), "");
  node().labels.erase(kUpgradeState);
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
  EXPECT_THAT(Examined()[0].message, HasSubstr("a driver upgrade"));
  // Who may not see DaemonSets does not know.
  cluster_.unread = {
      {.what = kDaemonSetsPart, .error = {.kind = ErrorKind::kDenied, .message = ""}}};
  EXPECT_EQ(CodeOf(), "");
}

TEST_F(NodeFindings, APauseOfTheMigManager) {
  constexpr char kPlugin[] = "nvidia.com/gpu.deploy.device-plugin";
  node().allocatable["nvidia.com/gpu"] = 0;
  cluster_.operands = {{.ns = "a", .name = "nvidia-driver-daemonset"}};
  Write(node(), kPlugin, "paused-for-mig-change", minutes(2));
  EXPECT_EQ(CodeOf(), "");
  EXPECT_EQ(Stage().plugin_off_by, "");
  for (const char* state : {"", "success"}) {
    Write(node(), kMigState, state, minutes(4));
    Write(node(), kPlugin, "paused-for-mig-change", minutes(4));
    EXPECT_EQ(CodeOf(), "OperandsPaused") << state;
    EXPECT_THAT(Examined()[0].message, HasSubstr("a MIG layout change"));
    EXPECT_NE(Stage().plugin_off_by, "");
  }
  Write(node(), kMigState, "pending", minutes(4));
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

}  // namespace
}  // namespace gantry::doctor
