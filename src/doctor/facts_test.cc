// SPDX-License-Identifier: Apache-2.0
#include "doctor/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/policy_facts.h"

namespace gantry::doctor {
namespace {

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

// Where the operator's own objects lie, whatever of it is there.
TEST(OperatorNamespace, ThePolicysWordComesFirst) {
  ClusterFacts cluster;
  EXPECT_EQ(OperatorNamespace(cluster), "");
  cluster.operators = {OperatorFrom(Json::parse(
      R"({"kind": "Deployment", "metadata": {"namespace": "a", "name": "gpu-operator"}})"))};
  EXPECT_EQ(OperatorNamespace(cluster), "a");
  cluster.operands = {{.ns = "b", .name = "nvidia-device-plugin-daemonset"}};
  EXPECT_EQ(OperatorNamespace(cluster), "b");
  cluster.own_namespace = "c";
  EXPECT_EQ(OperatorNamespace(cluster), "c");
  // One that the operator has not looked at, and one of the short form.
  cluster.policies = {PolicyFrom(Json::parse("{}")),
                      PolicyFrom(Json::parse(R"({"status": {"namespace": "d"}})"))};
  EXPECT_EQ(OperatorNamespace(cluster), "d");
}

TEST(Operands, WhoseChangesExchangePods) {
  Json set = Json::parse(R"({"metadata": {"name": "x", "labels":
      {"app.kubernetes.io/managed-by": "gpu-operator"}}})");
  EXPECT_TRUE(OperandFrom(set)->rolls);
  set["spec"]["updateStrategy"]["type"] = "RollingUpdate";
  EXPECT_TRUE(OperandFrom(set)->rolls);
  set["spec"]["updateStrategy"]["type"] = "OnDelete";
  EXPECT_FALSE(OperandFrom(set)->rolls);
}

// Kubernetes' recorders put that before the newest of more than ten of a kind.
TEST(MessageOf, OneEventThatStandsForMany) {
  EXPECT_EQ(MessageOf(Json::parse(R"({"message": "Failed to pull image"})")),
            "Failed to pull image");
  EXPECT_EQ(MessageOf(Json::parse(
                R"({"message": "(combined from similar events): Failed to pull image"})")),
            "Failed to pull image");
}

TEST(LastSeen, OfEachKindOfEvent) {
  EXPECT_EQ(LastSeen(Json::parse(R"({"series": {"lastObservedTime": "3"}, "eventTime": "1"})")),
            "3");
  EXPECT_EQ(LastSeen(Json::parse(R"({"lastTimestamp": "2", "eventTime": null})")), "2");
  EXPECT_EQ(LastSeen(Json::parse(R"({"lastTimestamp": null, "eventTime": "1"})")), "1");
  EXPECT_EQ(LastSeen(Json::parse(R"({"metadata": {"creationTimestamp": "0"}})")), "0");
}

}  // namespace
}  // namespace gantry::doctor
