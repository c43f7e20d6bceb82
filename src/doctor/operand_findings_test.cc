// SPDX-License-Identifier: Apache-2.0
#include "doctor/operand_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/testing/gpu_cluster.h"

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

using OperandFindings = GpuClusterTest;

// It has no section in the ClusterPolicy.
TEST_F(OperandFindings, ARefusalOfTheOperator) {
  for (const auto& [message, remedy] :
       {std::pair("pods \"x\" is forbidden: failed quota: q: must specify limits.cpu",
                  "set operator.resources of the chart"),
        std::pair("pods \"x\" is forbidden: insufficient quota to match these scopes: []",
                  "set operator.priorityClassName of the chart")}) {
    cluster_.refusals = {
        {.object = "Deployment a/gpu-operator", .message = message, .operand = true}};
    EXPECT_THAT(With({}), ElementsAre(Field(&Finding::remedy, HasSubstr(remedy)))) << message;
  }
}

TEST_F(OperandFindings, AnOperatorThatDoesNotRun) {
  cluster_.operators = {{.object = "Deployment a/gpu-operator", .wanted = 1, .available = 0}};
  EXPECT_THAT(With({}), ElementsAre(AllOf(Field(&Finding::code, "OperatorNotRunning"),
                                          Field(&Finding::object, "Deployment a/gpu-operator"))));
  EXPECT_EQ(With({})[0].severity, Severity::kProblem);
  // It was installed, or lost its pod, just now.
  cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
  Json deployment = Json::parse(R"({"kind": "Deployment", "metadata": {"namespace": "a",
      "name": "gpu-operator"}, "status": {"conditions": [
      {"type": "Progressing", "lastTransitionTime": "9"}, {"type": "Available"}]}})");
  const std::string just_now = Rfc3339(cluster_.now - std::chrono::minutes(1));
  deployment["metadata"]["creationTimestamp"] = just_now;
  cluster_.operators = {OperatorFrom(deployment)};
  EXPECT_THAT(With({}), ElementsAre(AllOf(Field(&Finding::code, "OperatorNotRunning"),
                                          Field(&Finding::severity, Severity::kNote))));
  deployment["metadata"]["creationTimestamp"] = "2000-01-01T00:00:00Z";
  cluster_.operators = {OperatorFrom(deployment)};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::severity, Severity::kProblem)));
  deployment["status"]["conditions"][1]["lastTransitionTime"] = just_now;
  cluster_.operators = {OperatorFrom(deployment)};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::severity, Severity::kNote)));
  // The cause alone.
  ContainerFacts container;
  container.ns = "a";
  container.app = "gpu-operator";
  container.waiting = "ErrImagePull";
  container.message = "not found";
  cluster_.operand_containers = {container};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "ImageMissing")));
}

// An unhealthy node keeps one pod of an operand from being ready, and has its own finding.
TEST_F(OperandFindings, OperandsThatWaitForANode) {
  cluster_.operands = {{.name = "x", .desired = 2, .ready = 1}};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "OperandNotReady")));
  node_["status"]["conditions"][0]["status"] = "Unknown";
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "NodeNotReady")));
  cluster_.operands[0].ready = 0;
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "OperandNotReady"),
                                    Field(&Finding::code, "NodeNotReady")));
  // Its pods are on other nodes.
  cluster_.operands[0].ready = 1;
  cluster_.operands[0].choice.labels = {{"pool", "other"}};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "OperandNotReady"),
                                    Field(&Finding::code, "NodeNotReady")));
}

TEST_F(OperandFindings, AnOperandThatFindsNoRoom) {
  cluster_.operands = {
      {.name = "x", .desired = 1, .scheduler = "0/1 nodes are available: 1 Insufficient memory."}};
  EXPECT_THAT(With({}),
              ElementsAre(AllOf(Field(&Finding::code, "OperandNotReady"),
                                Field(&Finding::message, HasSubstr("1 Insufficient memory")),
                                Field(&Finding::remedy, HasSubstr("resources")))));
}

// A finding about an operand that is no reason for unready pods.
TEST_F(OperandFindings, OnlyWhatKeepsPodsFromRunningExplainsThem) {
  cluster_.operands = {
      {.ns = "ns", .name = "nvidia-dcgm-exporter", .desired = 2, .ready = 1, .sees_pods = false}};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "ExporterWithoutPods"),
                                    Field(&Finding::code, "OperandNotReady")));
  ContainerFacts& container = cluster_.operand_containers.emplace_back();
  container.ns = "ns";
  container.app = "nvidia-dcgm-exporter";
  container.waiting = "CrashLoopBackOff";
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "ExporterWithoutPods"),
                                    Field(&Finding::code, "ExporterCrashing")));
  // Another namespace's.
  container.ns = "other";
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "ExporterWithoutPods"),
                                    Field(&Finding::code, "ExporterCrashing"),
                                    Field(&Finding::code, "OperandNotReady")));
}

}  // namespace
}  // namespace gantry::doctor
