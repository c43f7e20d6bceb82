// SPDX-License-Identifier: Apache-2.0

#include "operator/verdict.h"

#include "operator/policy_status.h"
#include "operator/verdict_for_tests.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(VerdictTest, ReadyWhenEverythingRuns) {
  const Verdict verdict = Now();
  EXPECT_EQ(verdict.state, "ready");
  EXPECT_EQ(verdict.reason, "Reconciled");
  EXPECT_EQ(StateOf("state-dcgm-exporter").state, "ready");
  EXPECT_EQ(StateOf("state-mig-manager").state, "ready");
  EXPECT_EQ(StateOf("state-driver").state, "unsupported");
  EXPECT_EQ(StateOf("state-vgpu-manager").state, "disabled");
  EXPECT_THAT(verdict.partly,
              AllOf(Not(HasSubstr("state-mig-manager")), HasSubstr("state-driver")));
}

TEST_F(VerdictTest, NotReadyBeforeTheControllerHasLooked) {
  Plugin() = {};
  Plugin().generation = 1;
  ExpectNotReady("DaemonSetNotObserved", "changed just now");
  // Looked at before its nodes were labelled: nothing desired, nothing unavailable.
  Plugin() = {1, 1, 0, 0, 0, 0, false};
  ExpectNotReady("PodsMissing", "0 of 2 nodes");
  // Every node with GPUs is away.
  cluster_.expected.clear();
  ExpectNotReady("PodsMissing", "0 of 2 nodes");
}

TEST_F(VerdictTest, NotReadyWhileSomethingIsMissing) {
  sets_.erase("nvidia-device-plugin-daemonset");
  ExpectNotReady("DaemonSetMissing", "nvidia-device-plugin-daemonset");
  Plugin() = {1, 1, 2, 2, 1, 1, false};
  cluster_.gpu_not_ready = {"node2"};
  ExpectNotReady("PodsNotAvailable",
                 "1 of 2 pods of nvidia-device-plugin-daemonset are available; "
                 "nodes not Ready: node2");
  Plugin() = {2, 2, 2, 1, 2, 0, false};
  ExpectNotReady("UpdateInProgress", "1 of 2");
  Plugin().on_delete = true;
  ExpectNotReady("UpdateWaits", "delete the others");
}

TEST_F(VerdictTest, AnOperandWithSeveralDaemonSetsIsReadyWhenAllAre) {
  system_ = {"ubuntu", "ubuntu22.04", {"5.15.0-1-generic", "6.5.0-1-generic"}};
  const Json driver = {{"repository", "r"}, {"image", "i"}, {"version", "1"}};
  Use({{"driver",
        {{"usePrecompiled", true},
         {"repository", "r"},
         {"image", "i"},
         {"version", "1"},
         {"manager", driver}}}});
  cluster_.labelled["driver"] = cluster_.expected["driver"] = 2;
  DaemonSetFacts& first = sets_["nvidia-driver-daemonset-5.15.0-1-generic-ubuntu22.04"];
  DaemonSetFacts& second = sets_["nvidia-driver-daemonset-6.5.0-1-generic-ubuntu22.04"];
  first = second = {1, 1, 1, 1, 1, 0, true};
  EXPECT_EQ(StateOf("state-driver").state, "ready");
  second.available = 0;
  EXPECT_EQ(StateOf("state-driver").reason, "PodsNotAvailable");
  second = {1, 1, 0, 0, 0, 0, true};
  EXPECT_EQ(StateOf("state-driver").reason, "PodsMissing");
  sets_.erase("nvidia-driver-daemonset-6.5.0-1-generic-ubuntu22.04");
  EXPECT_EQ(StateOf("state-driver").reason, "DaemonSetMissing");
  system_ = {};
  Use({{"driver", driver}});
  EXPECT_EQ(StateOf("state-driver").reason, "SystemUnknown");
}

// op#433
TEST_F(VerdictTest, NodesThatGetNoDriverAreNamed) {
  system_ = {"ubuntu", "ubuntu22.04", {}};
  const Json image = {{"repository", "r"}, {"image", "i"}, {"version", "1"}};
  Json driver = image;
  driver["manager"] = image;
  Use({{"driver", driver}});
  sets_["nvidia-driver-daemonset"] = {1, 1, 1, 1, 1, 0, true};
  cluster_.labelled["driver"] = cluster_.expected["driver"] = 2;
  Input().left_out[policy::OperandId::kDriver] = {"b run ubuntu20.04, and so on"};
  EXPECT_EQ(StateOf("state-driver").reason, "SystemNotServed");
  EXPECT_THAT(StateOf("state-driver").message, HasSubstr("b run ubuntu20.04"));
}

TEST_F(VerdictTest, NodesWhoseRuntimeNvidiasToolkitIsNotSetUpForAreNamed) {
  Input().other_runtimes = {"b (crio)"};
  EXPECT_EQ(StateOf("state-container-toolkit").state, "ready") << "ours finds each node's";
  Use({{"toolkit", {{"repository", "r"}, {"image", "toolkit"}, {"version", "1"}}}});
  EXPECT_EQ(StateOf("state-container-toolkit").reason, "RuntimeNotServed");
  EXPECT_THAT(StateOf("state-container-toolkit").message, HasSubstr("b (crio)"));
}

TEST_F(VerdictTest, DriversThatTheOperatorUpgradesAskForNobodysHand) {
  system_ = {"ubuntu", "ubuntu22.04", {"6.5"}};
  const Json image = {{"repository", "r"}, {"image", "i"}, {"version", "1"}};
  Json driver = image;
  driver["manager"] = image;
  Use({{"driver", driver}});
  sets_["nvidia-driver-daemonset"] = {1, 1, 2, 1, 2, 0, true};
  cluster_.labelled["driver"] = cluster_.expected["driver"] = 2;
  EXPECT_THAT(StateOf("state-driver").message, HasSubstr("delete the others"));
  EXPECT_FALSE(StatusOf(Now(), Input(), {Json(), 1, WallTime{}}).contains("driverUpgrades"));
  Input().driver_upgrades = {{"total", 2}};
  Input().driver_upgrades_summary = "n1 is drain-required";
  EXPECT_EQ(StateOf("state-driver").message,
            "1 of 2 pods of nvidia-driver-daemonset are updated; n1 is drain-required");
  const Json status = StatusOf(Now(), Input(), {Json(), 1, WallTime{}});
  EXPECT_EQ(status["driverUpgrades"]["total"], 2);
  Json further = status;
  further["driverUpgrades"]["total"] = 3;
  EXPECT_FALSE(SameStatus(status, further));
  EXPECT_TRUE(SameButMessages(status, further));
}

TEST_F(VerdictTest, AnOperandWithoutAnImageSaysWhatToWrite) {
  Use({{"sandboxWorkloads", {{"enabled", true}}},
       {"vgpuManager", {{"enabled", true}, {"version", "4"}}}});
  EXPECT_EQ(StateOf("state-vgpu-manager").state, "unsupported");
  EXPECT_THAT(StateOf("state-vgpu-manager").message, HasSubstr("set spec.vgpuManager.repository"));
}

TEST_F(VerdictTest, AHostEngineThatNobodyNeedsIsInNobodysWay) {
  Use({{"dcgm", {{"enabled", true}, {"version", "4"}}}});
  EXPECT_EQ(StateOf("state-dcgm").state, "ready");
  EXPECT_EQ(StateOf("state-dcgm").reason, "NotNeeded");
  EXPECT_THAT(StateOf("state-dcgm").message, HasSubstr("spec.dcgm.repository"));
  EXPECT_THAT(Now().partly, Not(HasSubstr("state-dcgm")));
  Use({{"dcgm", {{"enabled", true}, {"image", "r.io/dcgm:4"}}}});
  sets_.erase("nvidia-dcgm");
  EXPECT_EQ(StateOf("state-dcgm").state, "notReady") << "one that is named is to run";
}

TEST_F(VerdictTest, TheWayFromNvidiasImageToOursIsNamed) {
  for (const auto& [section, state] :
       {std::pair("dcgmExporter", "state-dcgm-exporter"), {"migManager", "state-mig-manager"}}) {
    Use(Json::object());
    EXPECT_EQ(StateOf(state).message, "");
    Use({{section, {{"image", "r.io/theirs:4"}}}});
    EXPECT_EQ(StateOf(state).state, "ready");
    EXPECT_EQ(StateOf(state).reason, "NvidiasImage");
    EXPECT_THAT(StateOf(state).message, HasSubstr(std::string(section) + ".image=gantry"));
  }
}

TEST_F(VerdictTest, NotReadyWhileANodeIsNotDividedAsAsked) {
  cluster_.mig_failed = {"a (all-1g.10gb: pod default/train)"};
  EXPECT_EQ(Now().state, "notReady");
  EXPECT_EQ(StateOf("state-mig-manager").reason, "MigChangeFailed");
  EXPECT_THAT(Now().message, HasSubstr("pod default/train"));
  Use({{"migManager", {{"image", "r.io/k8s-mig-manager:1"}}}});
  EXPECT_EQ(StateOf("state-mig-manager").state, "ready");
}

TEST_F(VerdictTest, NotReadyWhileAChangeOfALayoutWaits) {
  cluster_.mig_waits = {"a (all-1g.10gb: in use by pod default/train)"};
  EXPECT_EQ(Now().state, "notReady");
  EXPECT_EQ(StateOf("state-mig-manager").reason, "MigChangeWaits");
  EXPECT_THAT(Now().message, HasSubstr("pod default/train"));
  cluster_.mig_failed = {"b (all-1g.10gb)"};
  EXPECT_EQ(StateOf("state-mig-manager").reason, "MigChangeFailed");
}

TEST_F(VerdictTest, TheExporterIsNotReadyBeforeItRuns) {
  sets_["nvidia-dcgm-exporter"].available = 1;
  EXPECT_EQ(StateOf("state-dcgm-exporter").state, "notReady");
  EXPECT_EQ(Now().state, "notReady");
}

TEST_F(VerdictTest, AVgpuDeviceManagerWithoutATableIsInNobodysWay) {
  Use({{"sandboxWorkloads", {{"enabled", true}}},
       {"vgpuDeviceManager", {{"enabled", true}, {"image", "r.io/vgpu-device-manager:1"}}}});
  const OperandState state = StateOf("state-vgpu-device-manager");
  EXPECT_EQ(state.state, "unsupported");
  EXPECT_THAT(state.message, HasSubstr("config.name to a ConfigMap"));
}

TEST_F(VerdictTest, NotReadyWhileANodeOffersNoDevices) {
  Use({{"draDriver", {{"enabled", true}}}, {"devicePlugin", {{"enabled", false}}}});
  input_.kind = "GPUCluster";
  cluster_.labelled["dra-driver"] = cluster_.expected["dra-driver"] = 2;
  EXPECT_EQ(Now().state, "ready");
  EXPECT_THAT(Now().message, HasSubstr("GPUCluster is ready: 2 GPU nodes"));
  cluster_.gpu_without_device = {"a"};
  EXPECT_EQ(Now().state, "notReady");
  EXPECT_EQ(StateOf("state-dra-driver").reason, "NoDevicesOffered");
  EXPECT_THAT(Now().message, HasSubstr("GPUCluster is not ready"));
}

TEST_F(VerdictTest, NotReadyWhileANodeOffersNoGpus) {
  cluster_.gpu_without_resource = {"a", "b", "c", "d", "e", "f"};
  ExpectNotReady("NoGPUsOffered", "a, b, c, d, e and 1 more");
}

// op#2685: ready was said while a node's device nodes were missing.
TEST_F(VerdictTest, Op2685_NotReadyWhileTheValidatorFindsANodeBroken) {
  cluster_.not_validated = {"a (DeviceNodeMissing)"};
  EXPECT_EQ(Now().state, "notReady");
  EXPECT_EQ(StateOf("state-operator-validation").reason, "ValidationFailed");
  EXPECT_THAT(Now().message, HasSubstr("a (DeviceNodeMissing)"));
}

TEST_F(VerdictTest, NotReadyWhileANodeForVirtualMachinesIsNot) {
  Use({{"sandboxWorkloads", {{"enabled", true}}}});
  cluster_.vms_not_validated = {"a (GpuNotBoundToVfio)"};
  EXPECT_EQ(StateOf("state-sandbox-validation").reason, "ValidationFailed");
  EXPECT_THAT(StateOf("state-sandbox-validation").message, HasSubstr("a (GpuNotBoundToVfio)"));
}

TEST_F(VerdictTest, WhatOurValidatorFoundBeforeNvidiasCameIsNoNews) {
  Use({{"validator",
        {{"repository", "nvcr.io/nvidia"}, {"image", "gpu-operator"}, {"version", "v26.7.0"}}}});
  cluster_.not_validated = {"a (DeviceNodeMissing)"};
  EXPECT_EQ(StateOf("state-operator-validation").state, "ready");
}

TEST_F(VerdictTest, AMissingConfigMapIsNamed) {
  Input().missing_config = "slices";
  ExpectNotReady("ConfigMapNotFound", "ConfigMap slices");
}

TEST_F(VerdictTest, AMistakeInOneSectionIsItsOwn) {
  Use({{"devicePlugin", {{"repository", "r"}}}});
  EXPECT_THAT(Now().message,
              HasSubstr("states not ready: [state-device-plugin state-mps-control-daemon]"));
  for (const char* of_the_section : {"state-device-plugin", "state-mps-control-daemon"}) {
    EXPECT_EQ(StateOf(of_the_section).reason, "InvalidSpec");
    EXPECT_THAT(StateOf(of_the_section).message,
                HasSubstr("spec.devicePlugin: repository, image and version"));
  }
  EXPECT_EQ(StateOf("gpu-feature-discovery").state, "ready");
  EXPECT_THAT(Now().partly, HasSubstr("operands with a mistake: state-device-plugin"));
}

TEST_F(VerdictTest, WhatAShortFormSaysInVainIsSaid) {
  input_.fields_in_vain = {"driver.enabled", "driver.version"};
  EXPECT_THAT(Now().partly,
              HasSubstr("driver.enabled, driver.version: drivers come from NVIDIADrivers"));
}

TEST_F(VerdictTest, NodesThatNobodyDescribedMayHaveGpus) {
  cluster_.undescribed = {"new"};
  input_.undescribed_awaited = true;
  EXPECT_EQ(StateOf("node-features").reason, "NodesNotDescribed");
  EXPECT_EQ(Now().state, "notReady");
}

// op#742: a virtual node on which no pod of ours ever gets Ready.
TEST_F(VerdictTest, AWorkerThatNeverRunsKeepsNothingFromReady) {
  cluster_.undescribed = {"fargate"};
  cluster_.nodes = 3;
  cluster_.gpu_nodes = 2;
  sets_["nvidia-node-feature-discovery-worker"] = {1, 1, 3, 3, 2, 1, false};
  EXPECT_EQ(StateOf("node-features").reason, "PodsNotAvailable");
  EXPECT_EQ(Now().state, "ready");
  input_.undescribed_awaited = true;
  EXPECT_EQ(Now().state, "notReady");
  input_.undescribed_awaited = false;
  cluster_.gpu_nodes = 3;
  EXPECT_EQ(Now().state, "notReady") << "it may be the worker of a GPU node";
  sets_.erase("nvidia-node-feature-discovery-worker");
  EXPECT_EQ(Now().state, "notReady");
}

TEST_F(VerdictTest, WithoutFeatureLabelsNothingIsReady) {
  cluster_.described = 0;
  EXPECT_EQ(Now().reason, "NFDLabelsMissing");
  EXPECT_EQ(Now().state, "notReady");
  Use(Json::object(), false);
  EXPECT_THAT(Now().message, HasSubstr("nfd.enabled=true"));
}

TEST_F(VerdictTest, AClusterWithoutGpusIsReady) {
  cluster_.gpu_nodes = 0;
  cluster_.expected.clear();
  cluster_.labelled.clear();
  for (auto& [name, set] : sets_) {
    set = {1, 1, 0, 0, 0, 0, false};
  }
  EXPECT_EQ(Now().state, "ready");
  EXPECT_EQ(Now().reason, "NoGPUNodes");
}

TEST_F(VerdictTest, Op1469_AClusterThatHasLostItsGpusIsNotReady) {
  cluster_.gpus_gone = {"n1", "n2"};
  EXPECT_EQ(Now().state, "ready") << "other nodes have some";
  cluster_.gpu_nodes = 0;
  cluster_.expected.clear();
  cluster_.labelled.clear();
  for (auto& [name, set] : sets_) {
    set = {1, 1, 0, 0, 0, 0, false};
  }
  EXPECT_EQ(Now().state, "notReady");
  EXPECT_EQ(Now().reason, "GPUsGone");
  EXPECT_THAT(Now().message, AllOf(HasSubstr("n1, n2"),
                                   HasSubstr("kubectl label node n1 nvidia.com/gpu.present-")));
}

TEST_F(VerdictTest, ANodeThatIsAwayIsNamed) {
  cluster_.gpu_not_ready = {"node2"};
  EXPECT_EQ(Now().state, "ready");
  EXPECT_THAT(Now().message, HasSubstr("node2"));
}

TEST_F(VerdictTest, AVersionThatIsNotFollowedIsSaid) {
  Use({{"toolkit", {{"version", "v1"}}}});
  EXPECT_EQ(StateOf("state-container-toolkit").state, "ready");
  EXPECT_EQ(StateOf("state-container-toolkit").reason, "VersionNotUsed");
  EXPECT_EQ(StateOf("state-container-toolkit").image, "i:1");
  EXPECT_THAT(Now().partly, HasSubstr("toolkit.version"));
}

TEST_F(VerdictTest, AMonitorWithoutAPrometheusOperatorIsSaid) {
  input_.monitors_that_cant_be = {"dcgmExporter.serviceMonitor"};
  EXPECT_EQ(Now().state, "ready");
  EXPECT_THAT(Now().partly, HasSubstr("dcgmExporter.serviceMonitor"));
}

TEST_F(VerdictTest, MpsIsAskedForOnTheNodesThatShareByIt) {
  auto& mps = sets_["nvidia-device-plugin-mps-control-daemon"];
  mps = {1, 1, 0, 0, 0, 0, false};
  EXPECT_EQ(StateOf("state-mps-control-daemon").state, "ready") << "no node shares by MPS";
  cluster_.labelled["mps-control-daemon"] = cluster_.expected["mps-control-daemon"] = 1;
  EXPECT_EQ(StateOf("state-mps-control-daemon").reason, "PodsMissing");
  mps = {1, 1, 1, 1, 1, 0, false};
  EXPECT_EQ(StateOf("state-mps-control-daemon").state, "ready");
}

TEST_F(VerdictTest, AFailedWriteIsAnError) {
  Input().write_error = "create x: denied";
  EXPECT_EQ(Now().reason, "ReconcileFailed");
  EXPECT_EQ(Now().message, "create x: denied");
}

TEST_F(VerdictTest, NotReadyWhileObjectsWaitForLabels) {
  ASSERT_EQ(Now().state, "ready");
  Input().labelling = true;
  EXPECT_EQ(Now().state, "notReady");
  EXPECT_EQ(Now().reason, "OperandNotReady");
}

TEST_F(VerdictTest, NotReadyWhileDriversOfNvidiaDriversAreUpgraded) {
  ASSERT_EQ(Now().state, "ready");
  input_.drivers_unfinished = true;
  input_.driver_upgrades_summary = "0 of 2 drivers are upgraded";
  EXPECT_EQ(Now().reason, "OperandNotReady");
  EXPECT_THAT(Now().message, HasSubstr("0 of 2 drivers are upgraded"));
}

}  // namespace
}  // namespace gantry::gpu_operator
