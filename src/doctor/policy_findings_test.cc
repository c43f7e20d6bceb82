// SPDX-License-Identifier: Apache-2.0
#include "doctor/policy_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/policy_facts.h"
#include "doctor/testing/gpu_cluster.h"

namespace gantry::doctor {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using PolicyFindings = GpuClusterTest;

TEST_F(PolicyFindings, TheApiServersWordsAndWhatToDo) {
  struct Case {
    const char* message;
    const char* remedy;
  };
  for (const auto& [message, remedy] : std::initializer_list<Case>{
           {"admission webhook \"gatekeeper\" denied the request: no", "exempt"},
           {"ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", "exempt"},
           {"pods \"x\" is forbidden: failed quota: q: must specify limits.cpu", "set resources"},
           {"pods \"x\" is forbidden: exceeded quota: q", "raise the ResourceQuota"},
           {"minimum memory usage per Container is 1Gi", "LimitRange"},
           {"pods \"x\" is forbidden: unable to validate against any security context constraint",
            "SecurityContextConstraint"},
           {"something else", "change what refuses them"}}) {
    cluster_.refusals = {{.object = "DaemonSet a/x",
                          .message = std::string("Error creating: ") + message,
                          .operand = true}};
    EXPECT_THAT(
        With({}),
        ElementsAre(AllOf(Field(&Finding::message, std::string("its pods are refused: ") + message),
                          Field(&Finding::remedy, HasSubstr(remedy)))))
        << message;
  }
}

TEST_F(PolicyFindings, APolicyBesideTheOneThatCounts) {
  cluster_.policies.push_back({.object = "ClusterPolicy second",
                               .state = "ignored",
                               .conditions = {},
                               .unsupported_fields = {}});
  EXPECT_THAT(With({}), ElementsAre(AllOf(Field(&Finding::code, "PolicyIgnored"),
                                          Field(&Finding::object, "ClusterPolicy second"))));
}

TEST_F(PolicyFindings, WhatTheChartWasGivenForNothingIsNoted) {
  cluster_.policies = {PolicyFrom(Json::parse(
      R"json({"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "status": {
      "state": "ready", "valuesNotKnown": ["driver.verison (driver.version?)"],
      "valuesNotFollowed": ["draDriver.version"]}})json"))};
  EXPECT_THAT(With({}), ElementsAre(AllOf(Field(&Finding::code, "ValuesNotKnown"),
                                          Field(&Finding::severity, Severity::kNote),
                                          Field(&Finding::message, HasSubstr("driver.version?"))),
                                    AllOf(Field(&Finding::code, "ValuesNotFollowed"),
                                          Field(&Finding::severity, Severity::kNote))));
}

TEST_F(PolicyFindings, ADefinitionThatDropsFieldsIsNamed) {
  cluster_.policies = {PolicyFrom(
      Json::parse(R"({"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "status": {
      "state": "ready", "conditions": [{"type": "DefinitionsCurrent", "status": "False",
      "reason": "DefinitionOutdated", "message": "clusterpolicies.nvidia.com drops a"}]}})"))};
  EXPECT_THAT(With({}),
              ElementsAre(AllOf(Field(&Finding::code, "DefinitionOutdated"),
                                Field(&Finding::severity, Severity::kProblem),
                                Field(&Finding::message, "clusterpolicies.nvidia.com drops a"))));
}

// Nothing is wrong: it follows a node that is not done.
TEST_F(PolicyFindings, APolicyThatWaitsForANode) {
  const auto policy = [](const char* reason) {
    Json object = Json::parse(R"({"kind": "ClusterPolicy", "metadata": {"name": "p"}, "status": {
        "state": "notReady", "conditions": [{"type": "Error", "status": "True"}]}})");
    object["status"]["conditions"][0]["reason"] = reason;
    return PolicyFrom(object);
  };
  cluster_.policies = {policy("OperandNotReady")};
  EXPECT_THAT(With({}), ElementsAre(AllOf(Field(&Finding::code, "ClusterPolicyNotReady"),
                                          Field(&Finding::severity, Severity::kProblem))));
  const auto note =
      AllOf(Field(&Finding::code, "ClusterPolicyNotReady"),
            Field(&Finding::severity, Severity::kNote), Field(&Finding::remedy, HasSubstr("wait")));
  node_["metadata"]["labels"]["nvidia.com/gpu.deploy.operator-validator"] = "true";
  EXPECT_THAT(With({}), ElementsAre(note));
  // A NVIDIADriver's wait is the same.
  cluster_.drivers = {policy("DriverNotReady")};
  cluster_.drivers[0].object = "NVIDIADriver d";
  EXPECT_THAT(With({}), ElementsAre(note, AllOf(Field(&Finding::code, "DriverNotReady"),
                                                Field(&Finding::severity, Severity::kNote))));
  cluster_.drivers = {};
  // Something else is wrong with it, or with the cluster.
  cluster_.policies = {policy("ReconcileFailed")};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::severity, Severity::kProblem)));
  cluster_.policies = {policy("OperandNotReady")};
  cluster_.operands = {{.ns = "a", .name = "x", .desired = 1}};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::severity, Severity::kProblem),
                                    Field(&Finding::code, "OperandNotReady")));
  // Nobody waits for a ConfigMap that is not there.
  cluster_.operands = {};
  cluster_.policies[0].plugin_config = "slices";
  cluster_.policies[0].config_missing = true;
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "PluginConfigUnknown"),
                                    AllOf(Field(&Finding::code, "ClusterPolicyNotReady"),
                                          Field(&Finding::severity, Severity::kProblem))));
  cluster_.policies = {policy("OperandNotReady")};
  cluster_.operands = {{.ns = "a", .name = "x", .desired = 1}};
  // An operand that was just made pulls its image.
  cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
  cluster_.operands[0].made_at = Rfc3339(cluster_.now - std::chrono::minutes(1));
  node_["metadata"]["labels"].erase("nvidia.com/gpu.deploy.operator-validator");
  EXPECT_THAT(With({}), ElementsAre(note));
  // So does the operator.
  cluster_.operands = {};
  cluster_.policies = {
      PolicyFrom(Json::parse(R"({"kind": "ClusterPolicy", "metadata": {"name": "p"}})"))};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::severity, Severity::kProblem)));
  cluster_.policies[0].made_at = Rfc3339(cluster_.now - std::chrono::minutes(1));
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::severity, Severity::kNote)));
}

// It lives, and has lost a right.
TEST_F(PolicyFindings, APolicyWhoseLastChangeNobodyActsOn) {
  cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
  Json policy = Json::parse(R"({"kind": "ClusterPolicy", "metadata": {"name": "p", "generation": 3,
      "managedFields": [{"manager": "kubectl"}, {"manager": "gpu-operator",
      "subresource": "status", "time": "9"}]}, "status": {"state": "notReady", "conditions": [
      {"type": "Ready", "observedGeneration": 1}, {"type": "Error", "status": "True",
       "reason": "OperandNotReady", "observedGeneration": 2}]}})");
  cluster_.operators = {{.object = "Deployment a/gpu-operator", .wanted = 1, .available = 1}};
  // While nodes are being started it would be a wait.
  node_["metadata"]["labels"]["nvidia.com/gpu.deploy.operator-validator"] = "true";
  const auto changed = [&](std::chrono::seconds ago) {
    policy["metadata"]["managedFields"][0]["time"] = Rfc3339(cluster_.now - ago);
    cluster_.policies = {PolicyFrom(policy)};
    return With({});
  };
  const auto waits = Field(&Finding::severity, Severity::kNote);
  const auto told = AllOf(
      Field(&Finding::code, "ClusterPolicyNotReady"), Field(&Finding::severity, Severity::kProblem),
      Field(&Finding::message, HasSubstr("has not reconciled its last change")));
  EXPECT_THAT(changed(std::chrono::seconds(50)), ElementsAre(waits));
  EXPECT_THAT(changed(std::chrono::seconds(70)), ElementsAre(told));
  policy["status"]["state"] = "ready";
  EXPECT_THAT(changed(std::chrono::seconds(70)), ElementsAre(told));
  // The operator has just started, or does not run: that is reported.
  cluster_.operators[0].since = Rfc3339(cluster_.now - std::chrono::minutes(1));
  EXPECT_THAT(changed(std::chrono::seconds(70)), IsEmpty());
  cluster_.operators = {};
  EXPECT_THAT(changed(std::chrono::seconds(70)), IsEmpty());
  // Its conditions know of it, or say nothing of generations.
  cluster_.operators = {{.object = "Deployment a/gpu-operator", .wanted = 1, .available = 1}};
  policy["status"]["conditions"][0]["observedGeneration"] = 3;
  EXPECT_THAT(changed(std::chrono::seconds(70)), IsEmpty());
  policy["status"]["conditions"] = Json::array();
  EXPECT_THAT(changed(std::chrono::seconds(70)), IsEmpty());
}

// A change of an operand deletes its pods one by one, as a user may.
TEST_F(PolicyFindings, APolicyThatWaitsForARollOut) {
  cluster_.policies = {
      PolicyFrom(Json::parse(R"({"kind": "ClusterPolicy", "metadata": {"name": "p"}, "status": {
      "state": "notReady", "conditions": [{"type": "Error", "status": "True",
      "reason": "OperandNotReady"}]}})"))};
  const auto note =
      AllOf(Field(&Finding::code, "ClusterPolicyNotReady"),
            Field(&Finding::severity, Severity::kNote), Field(&Finding::remedy, HasSubstr("wait")));
  const auto problem = Field(&Finding::severity, Severity::kProblem);
  OperandFacts& operand = cluster_.operands.emplace_back();
  operand = {.name = "x", .desired = 3, .ready = 3, .updated = 1, .rolls = true};
  EXPECT_THAT(With({}), ElementsAre(note));
  operand.rolls = false;  // who is asked for each deletion
  EXPECT_THAT(With({}), ElementsAre(problem));
  operand.updated = 3;
  operand.ready = 2;
  EXPECT_THAT(With({}), ElementsAre(problem, Field(&Finding::code, "OperandNotReady")));
  operand.young = {"n2"};
  EXPECT_THAT(With({}), ElementsAre(note));
  operand.ready = 1;
  EXPECT_THAT(With({}), ElementsAre(problem, Field(&Finding::code, "OperandNotReady")));
  // A node that is not well excuses one pod, not two.
  node_["status"]["conditions"][0]["status"] = "Unknown";
  operand.young = {"n1"};
  EXPECT_THAT(With({}), ElementsAre(problem, Field(&Finding::code, "OperandNotReady"),
                                    Field(&Finding::code, "NodeNotReady")));
  operand.young = {"n2"};
  EXPECT_THAT(With({}), ElementsAre(problem, Field(&Finding::code, "NodeNotReady")));
}

TEST_F(PolicyFindings, ADriverThatGetsNoNodes) {
  cluster_.drivers = {
      PolicyFrom(Json::parse(R"({"kind": "NVIDIADriver", "metadata": {"name": "d"}, "status": {
      "state": "notReady", "conditions": [{"type": "Error", "status": "True",
      "reason": "ConflictingNodeSelector", "message": "multiple NVIDIADrivers"}]}})")),
      PolicyFrom(Json::parse(R"({"metadata": {"name": "off"}, "status": {
      "state": "disabled"}})"))};
  EXPECT_THAT(With({}),
              ElementsAre(AllOf(Field(&Finding::code, "DriverNotReady"),
                                Field(&Finding::object, "NVIDIADriver d"),
                                Field(&Finding::message, HasSubstr("ConflictingNodeSelector")))));
}

TEST_F(PolicyFindings, ATaintThatNoOperandTolerates) {
  cluster_.policies = {PolicyFrom(
      Json::parse(R"({"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "status": {
      "state": "ready", "conditions": [
      {"type": "NodesReachable", "status": "False", "reason": "TaintNotTolerated",
       "message": "no operand runs on these GPU nodes: n1: a=b:NoSchedule"},
      {"type": "Error", "status": "False", "reason": "Ready"}]}})"))};
  EXPECT_THAT(With({}), ElementsAre(AllOf(Field(&Finding::code, "TaintNotTolerated"),
                                          Field(&Finding::message, HasSubstr("n1: a=b")))));
}

// Whatever a policy or an NVIDIADriver says, and however long it has said so.
TEST_F(PolicyFindings, SeeTheOtherFindingsNeverStandsAlone) {
  for (const char* kind : {"ClusterPolicy", "NVIDIADriver"}) {
    for (const char* reason : {"ReconcileFailed", "OperandNotReady", "NFDLabelsMissing",
                               "DriverNotReady", "GPUsGone", "ConflictingNodeSelector", "New"}) {
      for (const char* since : {"2020-01-01T00:00:00Z", ""}) {
        const Json object = {{"kind", kind},
                             {"metadata", {{"name", "x"}}},
                             {"status",
                              {{"state", "notReady"},
                               {"conditions", Json::array({{{"type", "Error"},
                                                            {"status", "True"},
                                                            {"reason", reason},
                                                            {"message", "some words"},
                                                            {"lastTransitionTime", since}}})}}}};
        cluster_.policies = {PolicyFrom(object)};
        cluster_.drivers.clear();
        if (kind == std::string_view("NVIDIADriver")) {
          cluster_.drivers.swap(cluster_.policies);
        }
        const std::vector<Finding> findings = With({});
        const auto says_more = [](const Finding& finding) {
          return finding.remedy.find("see the other findings") == std::string::npos;
        };
        EXPECT_TRUE(std::ranges::any_of(findings, says_more)) << kind << " " << reason;
      }
    }
  }
}

TEST_F(PolicyFindings, Op364_WhatTheApiServerRefusesHasARemedy) {
  cluster_.policies = {PolicyFrom(
      Json::parse(R"({"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "status": {
      "state": "notReady", "conditions": [{"type": "Error", "status": "True",
      "reason": "ReconcileFailed", "message": "create daemonset x: spec.template.spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy"}]}})"))};
  EXPECT_THAT(With({}),
              ElementsAre(AllOf(Field(&Finding::code, "ClusterPolicyNotReady"),
                                Field(&Finding::remedy, HasSubstr("--allow-privileged")))));
}

TEST_F(PolicyFindings, Op1368_ATaintThatAnNvidiaDriverDoesNotTolerate) {
  node_["metadata"]["labels"]["nvidia.com/gpu.validation"] = "DriverContainerNotReady";
  node_["metadata"]["labels"]["nvidia.com/gpu.deploy.operator-validator"] = "true";
  cluster_.operands = {{.name = "nvidia-gpu-driver-debian12-1"}};
  cluster_.drivers = {PolicyFrom(
      Json::parse(R"({"kind": "NVIDIADriver", "metadata": {"name": "pool-gpu"}, "status": {
      "state": "notReady", "conditions": [
      {"type": "Error", "status": "True", "reason": "DriverNotReady", "message": "0 of 1 nodes"},
      {"type": "NodesReachable", "status": "False", "reason": "TaintNotTolerated",
       "message": "n1: purpose=gpu:NoSchedule"}]}})"))};
  const std::vector<Finding> findings = With({});
  EXPECT_THAT(findings, ElementsAre(Field(&Finding::code, "TaintNotTolerated"),
                                    Field(&Finding::code, "DriverNotReady")));
  EXPECT_EQ(LineOf(findings[0]),
            "problem  TaintNotTolerated  NVIDIADriver pool-gpu: n1: purpose=gpu:NoSchedule; add it "
            "to its "
            "spec.tolerations");
}

// A node without a validator's verdict, for a minute and for an hour.
TEST_F(PolicyFindings, Op1368_WaitingHasAnEnd) {
  cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
  node_["metadata"]["labels"]["nvidia.com/gpu.deploy.operator-validator"] = "true";
  node_["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z";
  Json driver = Json::parse(R"({"kind": "NVIDIADriver", "metadata": {"name": "d"}, "status": {
      "state": "notReady", "conditions": [{"type": "Error", "status": "True",
      "reason": "DriverNotReady", "message": "0 of 1 nodes have a pod of x"}]}})");
  const auto after = [&](std::chrono::minutes ago) {
    driver["status"]["conditions"][0]["lastTransitionTime"] = Rfc3339(cluster_.now - ago);
    cluster_.drivers = {PolicyFrom(driver)};
    const std::vector<Finding> findings = With({});
    EXPECT_EQ(findings.size(), 1U);
    return findings[0];
  };
  EXPECT_THAT(after(std::chrono::minutes(1)).remedy, HasSubstr("wait: "));
  const Finding late = after(std::chrono::minutes(60));
  EXPECT_EQ(late.severity, Severity::kProblem);
  EXPECT_THAT(late.remedy, AllOf(Not(HasSubstr("wait")), HasSubstr("kubectl get pods")));
}

}  // namespace
}  // namespace gantry::doctor
