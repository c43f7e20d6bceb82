// SPDX-License-Identifier: Apache-2.0

#include "operator/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/driver_parts_for_tests.h"
#include "operator/metrics.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A cluster of two GPU nodes on which everything runs; tests break one thing.
class VerdictTest : public testing::Test {
 protected:
  VerdictTest() {
    Use(Json::object());
    cluster_.nodes = cluster_.gpu_nodes = cluster_.described = 2;
    for (const char* deploy :
         {"container-toolkit", "operator-validator", "device-plugin", "gpu-feature-discovery"}) {
      cluster_.labelled[deploy] = cluster_.expected[deploy] = 2;
    }
  }

  void Use(const Json& spec, bool node_features = true) {
    auto policy = policy::Parse({{"spec", spec}});
    CHECK(policy.has_value());
    Context context;
    context.policy = *policy;
    context.space = "ns";
    context.image = "i:1";
    context.owners = Json::array({{{"kind", "ClusterPolicy"}}});
    DivideOn(system_, context);
    operands_ = DesiredOperands(context, node_features);
    sets_.clear();
    for (const DesiredOperand& operand : operands_) {
      if (!operand.objects.empty() && !operand.operand->daemon_set.empty()) {
        sets_[std::string(operand.operand->daemon_set)] = {1, 1, 2, 2, 2, 0, false};
      }
    }
    input_.node_features_ours = node_features;
  }

  VerdictInput& Input() {
    input_.operands = &operands_;
    input_.daemon_sets = &sets_;
    input_.cluster = &cluster_;
    input_.space = "ns";
    return input_;
  }
  Verdict Now() { return Judge(Input()); }
  OperandState StateOf(std::string_view name) {
    for (const OperandState& state : Now().operands) {
      if (state.name == name) {
        return state;
      }
    }
    return {};
  }
  DaemonSetFacts& Plugin() { return sets_["nvidia-device-plugin-daemonset"]; }
  void ExpectNotReady(std::string_view reason, std::string_view message) {
    const Verdict verdict = Now();
    EXPECT_EQ(verdict.state, "notReady");
    EXPECT_EQ(verdict.reason, "OperandNotReady");
    EXPECT_THAT(verdict.message, HasSubstr("states not ready: [state-device-plugin]"));
    EXPECT_EQ(StateOf("state-device-plugin").reason, reason);
    EXPECT_THAT(StateOf("state-device-plugin").message, HasSubstr(message));
  }

  std::vector<DesiredOperand> operands_;
  std::map<std::string, DaemonSetFacts> sets_;
  ClusterFacts cluster_;
  SystemFacts system_;
  VerdictInput input_;
};

TEST_F(VerdictTest, ReadyWhenEverythingRuns) {
  const Verdict verdict = Now();
  EXPECT_EQ(verdict.state, "ready");
  EXPECT_EQ(verdict.reason, "Reconciled");
  EXPECT_EQ(StateOf("state-dcgm-exporter").state, "ready");
  EXPECT_EQ(StateOf("state-mig-manager").state, "unsupported");
  EXPECT_EQ(StateOf("state-driver").state, "unsupported");
  EXPECT_EQ(StateOf("state-vgpu-manager").state, "disabled");
  EXPECT_THAT(verdict.partly, AllOf(HasSubstr("state-mig-manager"), HasSubstr("state-driver")));
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
  Input().left_out["state-driver"] = {"b run ubuntu20.04, and so on"};
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

TEST(ProjectDaemonSet, PodsThatDifferInTheirNodesAloneAreUpToDate) {
  Json set = {{"metadata", {{"annotations", {{names::kNarrowed, "true"}}}}},
              {"status", {{"desiredNumberScheduled", 2}, {"updatedNumberScheduled", 0}}}};
  EXPECT_EQ(ProjectDaemonSet(set).updated, 2);
  set["metadata"].erase("annotations");
  EXPECT_EQ(ProjectDaemonSet(set).updated, 0);
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
  EXPECT_FALSE(StatusOf(Now(), Input(), Json(), 1, WallTime{}).contains("driverUpgrades"));
  Input().driver_upgrades = {{"total", 2}};
  Input().driver_upgrades_summary = "n1 is drain-required";
  EXPECT_EQ(StateOf("state-driver").message,
            "1 of 2 pods of nvidia-driver-daemonset are updated; n1 is drain-required");
  const Json status = StatusOf(Now(), Input(), Json(), 1, WallTime{});
  EXPECT_EQ(status["driverUpgrades"]["total"], 2);
  Json further = status;
  further["driverUpgrades"]["total"] = 3;
  EXPECT_FALSE(SameStatus(status, further));
  EXPECT_TRUE(SameButMessages(status, further));
}

TEST_F(VerdictTest, AnOperandWithoutAnImageSaysWhatToWrite) {
  Use({{"migManager", {{"version", "4"}}}});
  EXPECT_EQ(StateOf("state-mig-manager").state, "unsupported");
  EXPECT_THAT(StateOf("state-mig-manager").message, HasSubstr("set spec.migManager.repository"));
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

TEST_F(VerdictTest, ValuesOfTheChartThatMakeNoDifferenceAreNamed) {
  input_.values_not_known = {"driver.verison (driver.version?)"};
  input_.values_not_followed = {"draDriver.version"};
  const Verdict verdict = Now();
  EXPECT_EQ(verdict.state, "ready");
  EXPECT_THAT(verdict.partly, AllOf(HasSubstr("not known: driver.verison (driver.version?)"),
                                    HasSubstr("not followed: draDriver.version")));
  const Json status = StatusOf(verdict, Input(), {}, 1, WallTime{});
  EXPECT_EQ(status["valuesNotKnown"], Json::array({"driver.verison (driver.version?)"}));
  EXPECT_EQ(status["valuesNotFollowed"], Json::array({"draDriver.version"}));
}

TEST_F(VerdictTest, DefinitionsThatDropFieldsAreACondition) {
  const auto told = [&] {
    const Json status = StatusOf(Now(), Input(), {}, 1, WallTime{});
    for (const Json& condition : status["conditions"]) {
      if (condition["type"] == "DefinitionsCurrent") {
        return condition;
      }
    }
    return Json();
  };
  EXPECT_EQ(told()["status"], "True");
  input_.outdated_definitions = {"the definition a is another release's"};
  EXPECT_EQ(told()["reason"], "DefinitionOutdated");
  EXPECT_EQ(told()["message"], "the definition a is another release's");
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

TEST_F(VerdictTest, StatusCarriesNvidiasPairOfConditions) {
  input_.unsupported_fields = {"dcgmExporter", "psa.enabled"};
  cluster_.untolerated = {"n: a=b:NoSchedule"};
  const Json status = StatusOf(Now(), Input(), Json(), 3, WallTime{});
  EXPECT_EQ(status["state"], "ready");
  EXPECT_EQ(status["namespace"], "ns");
  EXPECT_EQ(status["conditions"][0]["type"], "Ready");
  EXPECT_EQ(status["conditions"][0]["status"], "True");
  EXPECT_EQ(status["conditions"][0]["reason"], "Reconciled");
  EXPECT_EQ(status["conditions"][0]["observedGeneration"], 3);
  EXPECT_EQ(status["conditions"][1]["type"], "Error");
  EXPECT_EQ(status["conditions"][1]["status"], "False");
  EXPECT_EQ(status["conditions"][1]["reason"], "Ready");
  EXPECT_EQ(status["conditions"][2]["reason"], "Partly");
  EXPECT_THAT(status["conditions"][2]["message"].get<std::string>(),
              HasSubstr("fields not acted on: psa.enabled"));
  EXPECT_EQ(status["conditions"][3]["reason"], "TaintNotTolerated");
  EXPECT_EQ(status["unsupportedFields"].size(), 2U);
  for (const Json& operand : status["operands"]) {
    EXPECT_NE(operand["state"], "disabled");
  }

  Plugin().available = 0;
  const Json broken = StatusOf(Now(), Input(), status, 3, WallTime{} + std::chrono::seconds(5));
  EXPECT_EQ(broken["conditions"][0]["reason"], "Error");
  EXPECT_EQ(broken["conditions"][1]["reason"], "OperandNotReady");
  EXPECT_FALSE(SameStatus(status, broken));
}

TEST(Status, MessagesAloneAreNoHurry) {
  Json status = {
      {"state", "notReady"},
      {"conditions",
       Json::array({{{"type", "Ready"}, {"status", "False"}, {"message", "1 of 9"}}})},
      {"operands",
       Json::array({{{"name", "driver"}, {"state", "notReady"}, {"message", "1 of 9"}}})}};
  Json counted = status;
  counted["conditions"][0]["message"] = counted["operands"][0]["message"] = "2 of 9";
  EXPECT_FALSE(SameStatus(status, counted));
  EXPECT_TRUE(SameButMessages(status, counted));
  Json judged = counted;
  judged["operands"][0]["state"] = "ready";
  EXPECT_FALSE(SameButMessages(counted, judged));
  judged = counted;
  judged["conditions"][0]["status"] = "True";
  EXPECT_FALSE(SameButMessages(counted, judged));
  EXPECT_FALSE(SameButMessages(Json(), status));
}

TEST_F(VerdictTest, TimesOfConditionsStayWhileTheirStatusDoes) {
  const Json first = StatusOf(Now(), Input(), Json(), 1, WallTime{});
  const Json second = StatusOf(Now(), Input(), first, 1, WallTime{} + std::chrono::hours(1));
  EXPECT_EQ(first, second);
  EXPECT_TRUE(
      SameStatus(first, StatusOf(Now(), Input(), Json(), 1, WallTime{} + std::chrono::hours(1))));
}

TEST_F(VerdictTest, OtherPoliciesAreToldWhy) {
  const Json ignored = IgnoredStatus("ClusterPolicy first", Json(), 1, WallTime{});
  EXPECT_EQ(ignored["state"], "ignored");
  EXPECT_THAT(ignored["conditions"][1]["message"].get<std::string>(), HasSubstr("first"));
  const Json invalid = BriefStatus(JudgeInvalid("spec.x: wrong"), "ns", Json(), 1, WallTime{});
  EXPECT_EQ(invalid["state"], "notReady");
  EXPECT_EQ(invalid["conditions"][1]["reason"], "ReconcileFailed");
  EXPECT_EQ(invalid["conditions"][1]["message"], "spec.x: wrong");
  EXPECT_EQ(invalid["conditions"][2]["reason"], "Partly");
  EXPECT_EQ(invalid["conditions"][2]["message"], "spec.x: wrong");
  const Json told = ShortFormStatus(invalid, "spec.x: wrong", Json(), 1, WallTime{});
  EXPECT_EQ(told["namespace"], "ns");
  EXPECT_EQ(told["conditions"], invalid["conditions"]);
}

TEST(GpuClusterStatus, SaysThatNobodyActsOnIt) {
  const Json status = GpuClusterStatus("ns", Json(), 4, WallTime{});
  EXPECT_EQ(status["state"], "notReady");
  EXPECT_EQ(status["namespace"], "ns");
  EXPECT_EQ(status["conditions"][0]["status"], "False");
  EXPECT_EQ(status["conditions"][1]["reason"], "NotSupported");
  EXPECT_EQ(status["conditions"][1]["observedGeneration"], 4);
}

TEST_F(VerdictTest, TheShortFormSaysWhatBecameOfBoth) {
  const VerdictInput input = Input();
  const Json followed = StatusOf(Now(), input, Json(), 1, WallTime{});
  const Json told = ShortFormStatus(followed, "not acted on: cuda", Json(), 7, WallTime{});
  EXPECT_EQ(told["state"], followed["state"]);
  EXPECT_EQ(told["namespace"], "ns");
  ASSERT_EQ(told["conditions"].size(), followed["conditions"].size());
  EXPECT_EQ(told["conditions"][0]["message"], followed["conditions"][0]["message"]);
  EXPECT_EQ(told["conditions"][0]["observedGeneration"], 7);
  EXPECT_EQ(told["conditions"].back()["reason"], "Partly");
  EXPECT_EQ(told["conditions"].back()["message"], "not acted on: cuda");
  const Json whole = ShortFormStatus(followed, "", told, 7, WallTime{} + std::chrono::hours(1));
  EXPECT_EQ(whole["conditions"].back()["reason"], "Complete");
  EXPECT_EQ(whole["conditions"][0]["lastTransitionTime"],
            told["conditions"][0]["lastTransitionTime"]);
}

TEST_F(VerdictTest, WhatAShortFormSaysOtherwiseIsNamed) {
  VerdictInput input = Input();
  input.overridden_fields = {"driver.version", "migManager.enabled"};
  const Json status = StatusOf(Now(), input, Json(), 1, WallTime{});
  EXPECT_THAT(status["conditions"][2]["message"].get<std::string>(),
              HasSubstr("a GPUClusterPolicy says otherwise: driver.version, migManager.enabled"));
  EXPECT_EQ(status["conditions"][2]["reason"], "Partly");
}

TEST(DaemonSetFacts, AreReadFromMetadataAndStatus) {
  EXPECT_EQ(ProjectDaemonSet({{"metadata", {{"generation", 4}}},
                              {"spec", {{"updateStrategy", {{"type", "OnDelete"}}}}},
                              {"status",
                               {{"observedGeneration", 3},
                                {"desiredNumberScheduled", 5},
                                {"currentNumberScheduled", 4},
                                {"updatedNumberScheduled", 1},
                                {"numberAvailable", 2},
                                {"numberUnavailable", 3}}}}),
            (DaemonSetFacts{4, 3, 5, 1, 2, 3, true, 4}));
}

TEST(Metrics, HaveNvidiasNames) {
  Metrics metrics;
  metrics.gpu_nodes = 2;
  EXPECT_THAT(FormatMetrics(metrics),
              AllOf(HasSubstr("\ngpu_operator_gpu_nodes_total 2\n"),
                    HasSubstr("# TYPE gpu_operator_reconciliation_status")));
  metrics.nfd.started = 7;
  metrics.nfd.rejected_labels = 3;
  metrics.nfd.rule_seconds.Observe(0.0002);
  EXPECT_THAT(FormatMetrics(metrics),
              AllOf(HasSubstr("\nnfd_master_build_info{version=\"" GANTRY_VERSION "\"} 7\n"),
                    HasSubstr("\nnfd_master_node_labels_rejected_total 3\n"),
                    HasSubstr("\nnfd_master_nodefeaturerule_processing_duration_seconds_count 1\n"),
                    HasSubstr("\nnfd_gc_objects_deleted_total 0\n")));
  metrics.auto_upgrade = true;
  metrics.upgrades = {
      .total = 21, .done = 6, .pending = 5, .in_progress = 4, .failed = 3, .available = 2};
  const std::string text = FormatMetrics(metrics);
  EXPECT_THAT(text, HasSubstr("# TYPE gpu_operator_reconciliation_status"));
  for (const char* line :
       {"gpu_nodes_total 2", "driver_auto_upgrade_enabled 1", "nodes_upgrades_done 6",
        "nodes_upgrades_pending 5", "nodes_upgrades_in_progress 4", "nodes_upgrades_failed 3",
        "nodes_upgrades_available 2"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\ngpu_operator_") + line + "\n"));
  }
}

TEST(Metrics, TheLeaderIsToldUnderItsLeasesName) {
  EXPECT_THAT(FormatLeader(true),
              HasSubstr("\nleader_election_master_status{name=\"53822513.nvidia.com\"} 1\n"));
  EXPECT_THAT(FormatLeader(false), HasSubstr("} 0\n"));
}

TEST(Metrics, ReadyIsTheOnlySuccess) {
  const WallTime now{std::chrono::seconds(7)};
  Metrics metrics;
  metrics.Judged(true, now);
  metrics.Judged(false, now + std::chrono::seconds(1));
  EXPECT_EQ(metrics.status, 0);
  EXPECT_EQ(metrics.failures, 1);
  EXPECT_EQ(metrics.last_success_seconds, 7);
  metrics.Judged(true, now);
  EXPECT_EQ(metrics.status, 1);
  EXPECT_EQ(metrics.failures, 1);
}

TEST(StatusPatch, WhatIsGoneGoesAtAnyDepth) {
  const Json before = Json::parse(
      R"({"state": "notReady", "driverUpgrades": {"done": 1, "nodes": [{"name": "a"}]}, "old": {"a": 1}})");
  const Json after =
      Json::parse(R"({"state": "ready", "driverUpgrades": {"done": 2}, "new": {"b": [1]}})");
  Json stored = before;
  stored.merge_patch(StatusPatch(before, after));
  EXPECT_EQ(stored, after);
  stored = Json::object();
  stored.merge_patch(StatusPatch(stored, before));
  EXPECT_EQ(stored, before);
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
