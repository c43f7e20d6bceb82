// SPDX-License-Identifier: Apache-2.0
#include "doctor/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/policy_facts.h"
#include "doctor/testing/gpu_cluster.h"

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Findings = GpuClusterTest;

TEST_F(Findings, NothingIsWrong) { EXPECT_THAT(With({}), IsEmpty()); }

TEST_F(Findings, AsText) {
  EXPECT_EQ(TextOf({Problem("A", "b", "c", "d"), Note("E", "f", "g", "h")}),
            "problem  A  b: c; d\nnote     E  f: g; h\n");
  EXPECT_EQ(LineOf(Problem("A", "b", "c\nd", "e")), "problem  A  b: c d; e");
}

TEST_F(Findings, AsJson) {
  const Json json = JsonOf(With({GpuPod("p", 9)}));
  EXPECT_EQ(TextAt(json["findings"][0], "code"), "MoreGpusThanAnyNode");
  EXPECT_EQ(TextAt(json["findings"][0], "severity"), "problem");
}

TEST_F(Findings, ARefusedOperandIsNotSaidToBeUnready) {
  cluster_.operands = {{.ns = "a", .name = "x", .desired = 1, .ready = 0, .updated = 0},
                       {.ns = "a", .name = "xy", .desired = 1, .ready = 0, .updated = 0}};
  cluster_.refusals = {{.object = "DaemonSet a/x",
                        .message = "pods \"x\" is forbidden: violates PodSecurity \"baseline\"",
                        .operand = true}};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "PodSecurityForbids"),
                                    AllOf(Field(&Finding::code, "OperandNotReady"),
                                          Field(&Finding::object, "DaemonSet xy"))));
}

// The operator's namespace was deleted.
TEST_F(Findings, WhatFollowsFromAStoppedOperatorIsNotTold) {
  node_["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"] = "true";
  node_["status"]["allocatable"]["nvidia.com/gpu"] = "0";
  cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
  cluster_.lease_renewed = "2020-01-01T00:00:00Z";
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "OperatorStopped")));
}

TEST_F(Findings, ANodeWithoutADriver) {
  node_["status"].erase("capacity");
  node_["status"].erase("allocatable");
  node_["metadata"]["labels"] = {{"feature.node.kubernetes.io/pci-10de.present", "true"},
                                 {"nvidia.com/gpu.deploy.device-plugin", "true"}};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "DriverMissing")));
  node_["metadata"]["labels"]["nvidia.com/cuda.driver-version.full"] = "535.1";
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "NoGpuAllocatable")));
  node_["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] = "false";
  EXPECT_THAT(With({}), IsEmpty());
}

TEST_F(Findings, AnUnhealthyGpu) {
  node_["status"]["allocatable"]["nvidia.com/gpu"] = "7";
  const auto findings = With({});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "GpusUnhealthy");
  EXPECT_THAT(findings[0].message, HasSubstr("1 of its 8"));
  // Who waits for it is not told to ask for less, nor that he waits for others.
  EXPECT_THAT(With({GpuPod("p", 8)}), ElementsAre(Field(&Finding::code, "GpusUnhealthy")));
  EXPECT_THAT(With({GpuPod("p", 9)}), ElementsAre(Field(&Finding::code, "GpusUnhealthy"),
                                                  Field(&Finding::code, "MoreGpusThanAnyNode")));
}

TEST_F(Findings, ANodeThatIsNotReady) {
  node_["status"]["conditions"][0]["status"] = "Unknown";
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "NodeNotReady")));
}

TEST_F(Findings, OperandsAndPolicies) {
  cluster_.operands = {
      OperandFrom(Json::parse(R"({"metadata": {"name": "nvidia-device-plugin-daemonset",
      "labels": {"app.kubernetes.io/managed-by": "gpu-operator"}},
      "status": {"desiredNumberScheduled": 2, "numberReady": 1, "updatedNumberScheduled": 2}})"))
          .value()};
  cluster_.policies = {PolicyFrom(
      Json::parse(R"({"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "status": {
      "state": "notReady", "unsupportedFields": ["spec.dcgm"], "conditions": [{"type": "Error",
      "status": "True", "reason": "OperandNotReady", "message": "states not ready"}]}})"))};
  EXPECT_THAT(With({}), ElementsAre(AllOf(Field(&Finding::code, "FieldsNotActedOn"),
                                          Field(&Finding::severity, Severity::kNote)),
                                    AllOf(Field(&Finding::code, "ClusterPolicyNotReady"),
                                          Field(&Finding::message, HasSubstr("OperandNotReady"))),
                                    AllOf(Field(&Finding::code, "OperandNotReady"),
                                          Field(&Finding::message, "1 of 2 pods are ready"))));
  cluster_.policies.clear();
  cluster_.operands.clear();
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "NoClusterPolicy")));
  // Who may not see them does not know.
  cluster_.unread = {{.what = kPoliciesPart, .error = {.kind = ErrorKind::kDenied, .message = ""}}};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "NotPermitted")));
}

}  // namespace
}  // namespace gantry::doctor
