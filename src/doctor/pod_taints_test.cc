// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/pod_findings.h"
#include "doctor/testing/gpu_cluster.h"

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

using PodTaints = GpuClusterTest;

TEST_F(PodTaints, AMissingToleration) {
  node_["spec"]["taints"] = Json::array({NoSchedule("nvidia.com/gpu", "present")});
  const auto findings = With({GpuPod("p", 1)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "TolerationMissing");
  EXPECT_THAT(LineOf(findings[0]),
              AllOf(HasSubstr("pod default/p"), HasSubstr("nvidia.com/gpu=present:NoSchedule"),
                    HasSubstr("tolerations: [{key: nvidia.com/gpu, operator: Exists}]")));
}

TEST_F(PodTaints, EachMissingTolerationIsSpelled) {
  node_["spec"]["taints"] =
      Json::array({NoSchedule("team", "ml"), NoSchedule("nvidia.com/gpu", "present")});
  EXPECT_THAT(With({GpuPod("p", 1)}),
              ElementsAre(Field(&Finding::remedy,
                                HasSubstr("[{key: nvidia.com/gpu, operator: Exists}, {key: team, "
                                          "operator: Exists}]"))));
}

TEST_F(PodTaints, TolerationsOfEachForm) {
  node_["spec"]["taints"] = Json::array({NoSchedule("nvidia.com/gpu", "present")});
  for (const char* toleration :
       {R"({"operator": "Exists"})", R"({"key": "nvidia.com/gpu", "operator": "Exists"})",
        R"({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"})"}) {
    Json pod = GpuPod("p", 1);
    pod["spec"]["tolerations"] = Json::array({Json::parse(toleration)});
    EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, "GpusInUse"))) << toleration;
  }
  for (const char* toleration :
       {R"({"key": "nvidia.com/gpu", "value": "absent"})",
        R"({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"})",
        R"({"key": "other", "operator": "Exists"})"}) {
    Json pod = GpuPod("p", 1);
    pod["spec"]["tolerations"] = Json::array({Json::parse(toleration)});
    EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, "TolerationMissing"))) << toleration;
  }
}

TEST_F(PodTaints, ACordonedNodeNeedsNoToleration) {
  node_["spec"]["taints"] = Json::array({NoSchedule("node.kubernetes.io/unschedulable", "")});
  EXPECT_THAT(With({GpuPod("p", 1)}),
              ElementsAre(AllOf(Field(&Finding::code, "NodesUnschedulable"),
                                Field(&Finding::severity, Severity::kProblem))));
}

TEST_F(PodTaints, TaintsThatGoByThemselvesNeedNoToleration) {
  cluster_.operators = {OperatorFrom(Json::parse(R"({"spec": {"template": {"spec": {"containers": [
      {"env": [{"name": "STARTUP_TAINT", "value": "gpus.example.com/starting"}]}]}}},
      "status": {"availableReplicas": 1}})"))};
  for (const char* key :
       {"gpus.example.com/starting", "node.cilium.io/agent-not-ready",
        "startup-taint.cluster-autoscaler.kubernetes.io/gpu", "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted", "karpenter.sh/unregistered",
        "node.cloudprovider.kubernetes.io/uninitialized"}) {
    node_["spec"]["taints"] = Json::array({NoSchedule(key, "")});
    EXPECT_THAT(With({GpuPod("p", 1)}),
                ElementsAre(AllOf(Field(&Finding::code, "NodesUnschedulable"),
                                  Field(&Finding::severity, Severity::kNote))))
        << key;
  }
}

// The GPUs of the others are taken.
TEST_F(PodTaints, ANodeThatATaintKeepsPodsFrom) {
  Json tainted = GpuNode("n2", 8);
  const auto beside = [&](const Json& other) {
    cluster_.nodes = {NodeFrom(node_), NodeFrom(other)};
    cluster_.pending = {PodFrom(GpuPod("p", 1))};
    return Examine(cluster_);
  };
  const auto in_use = Field(&Finding::code, "GpusInUse");
  tainted["spec"]["taints"] = Json::array({NoSchedule("nvidia.com/gpu", "present")});
  EXPECT_THAT(
      beside(tainted),
      ElementsAre(
          AllOf(in_use,
                Field(&Finding::message,
                      HasSubstr("nvidia.com/gpu=present:NoSchedule keeps it from node n2")),
                Field(&Finding::remedy, HasSubstr("[{key: nvidia.com/gpu, operator: Exists}]")))));
  // Such a taint goes, or is no matter of tolerations; or its GPUs are away.
  for (const char* key : {"node.kubernetes.io/unschedulable", "karpenter.sh/disrupted"}) {
    tainted["spec"]["taints"] =
        Json::array({NoSchedule("nvidia.com/gpu", "present"), NoSchedule(key, "")});
    EXPECT_THAT(
        beside(tainted),
        ElementsAre(AllOf(in_use, Field(&Finding::remedy, "wait, end other pods, or add a node"))))
        << key;
  }
  tainted["spec"]["taints"] = Json::array({NoSchedule("nvidia.com/gpu", "present")});
  tainted["status"]["allocatable"]["nvidia.com/gpu"] = "0";
  EXPECT_THAT(beside(tainted),
              testing::Contains(
                  AllOf(in_use, Field(&Finding::remedy, "wait, end other pods, or add a node"))));
}

// What else might be done, where the GPUs of the others are taken.
TEST_F(PodTaints, ANodeThatIsCordonedBesideThoseInUse) {
  Json other = GpuNode("n2", 8);
  const auto line = [&] {
    cluster_.nodes = {NodeFrom(node_), NodeFrom(other)};
    cluster_.pending = {PodFrom(GpuPod("p", 1))};
    const std::vector<Finding> findings = Examine(cluster_);
    EXPECT_THAT(findings, testing::Contains(Field(&Finding::code, "GpusInUse")));
    return LineOf(findings.back());
  };
  const auto told = AllOf(HasSubstr("node n2 is cordoned"), HasSubstr("kubectl uncordon n2"));
  other["spec"]["unschedulable"] = true;
  other["spec"]["taints"] = Json::array({NoSchedule("node.kubernetes.io/unschedulable", "")});
  EXPECT_THAT(line(), told);
  // It is ill besides, is being changed, or has too few.
  other["spec"]["taints"].push_back(NoSchedule("node.kubernetes.io/not-ready", ""));
  EXPECT_THAT(line(), Not(HasSubstr("cordon")));
  other["spec"]["taints"].erase(1);
  other["metadata"]["labels"]["nvidia.com/gpu-driver-upgrade-state"] = "drain-required";
  EXPECT_THAT(line(), Not(HasSubstr("cordon")));
  other["metadata"]["labels"].erase("nvidia.com/gpu-driver-upgrade-state");
  other["status"]["allocatable"]["nvidia.com/gpu"] = "0";
  EXPECT_THAT(line(), Not(HasSubstr("cordon")));
}

}  // namespace
}  // namespace gantry::doctor
