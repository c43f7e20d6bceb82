// SPDX-License-Identifier: Apache-2.0
#include "doctor/pod_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/testing/gpu_cluster.h"

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using PodFindings = GpuClusterTest;

// An upgrade of its driver has cordoned it, and will uncordon it.
TEST_F(PodFindings, ANodeThatIsBeingChangedIsWaitedFor) {
  node_["spec"]["taints"] = Json::array({NoSchedule("node.kubernetes.io/unschedulable", "")});
  node_["metadata"]["labels"]["nvidia.com/gpu-driver-upgrade-state"] = "drain-required";
  EXPECT_THAT(With({GpuPod("p", 1)}),
              ElementsAre(AllOf(Field(&Finding::code, "NodesUnschedulable"),
                                Field(&Finding::severity, Severity::kNote),
                                Field(&Finding::remedy, HasSubstr("wait")))));
  // Its GPUs are away, and it is not cordoned.
  node_["spec"].erase("taints");
  for (const char* away : {"allocatable", "capacity"}) {
    node_["status"][away]["nvidia.com/gpu"] = "0";
    EXPECT_THAT(With({GpuPod("p", 1)}),
                ElementsAre(AllOf(Field(&Finding::code, "ResourceNotOffered"),
                                  Field(&Finding::severity, Severity::kNote))))
        << away;
  }
}

TEST_F(PodFindings, APodThatIsNotToBeScheduledYet) {
  Json pod = GpuPod("p", 9);
  pod["spec"]["schedulingGates"] = Json::array({{{"name", "kueue.x-k8s.io/admission"}}});
  EXPECT_THAT(With({pod}), IsEmpty());
}

TEST_F(PodFindings, MoreGpusThanAnyNodeHas) {
  const auto findings = With({GpuPod("p", 9)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "MoreGpusThanAnyNode");
  EXPECT_THAT(findings[0].message, AllOf(HasSubstr("9 nvidia.com/gpu"), HasSubstr("more than 8")));
}

TEST_F(PodFindings, TheGpusOfAllContainersCount) {
  Json pod = GpuPod("p", 5);
  pod["spec"]["containers"].push_back(pod["spec"]["containers"][0]);
  EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, "MoreGpusThanAnyNode")));
}

TEST_F(PodFindings, AResourceThatNobodyOffers) {
  Json pod = GpuPod("p", 1);
  pod["spec"]["containers"][0]["resources"]["limits"] = {{"nvidia.com/mig-1g.5gb", 1}};
  const auto findings = With({pod});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "ResourceNotOffered");
  EXPECT_THAT(findings[0].message, HasSubstr("offered: nvidia.com/gpu"));
}

// A node that joins has none yet.
TEST_F(PodFindings, AResourceThatANodeMayOfferYet) {
  node_["status"].erase("capacity");
  node_["status"].erase("allocatable");
  node_["metadata"]["labels"]["nvidia.com/gpu.deploy.operator-validator"] = "true";
  EXPECT_THAT(With({GpuPod("p", 1)}),
              ElementsAre(AllOf(Field(&Finding::code, "ResourceNotOffered"),
                                Field(&Finding::severity, Severity::kNote),
                                Field(&Finding::remedy, HasSubstr("node n1")))));
  node_["metadata"]["labels"]["nvidia.com/gpu.validation"] = "ready";
  EXPECT_THAT(With({GpuPod("p", 1)}),
              ElementsAre(AllOf(Field(&Finding::code, "ResourceNotOffered"),
                                Field(&Finding::severity, Severity::kProblem))));
}

TEST_F(PodFindings, WhoMayNotSeeNodesDoesNotKnowWhatTheyOffer) {
  cluster_.unread = {{.what = kNodesPart, .error = {.kind = ErrorKind::kTimeout, .message = ""}}};
  cluster_.pending = {PodFrom(GpuPod("p", 1))};
  EXPECT_THAT(Examine(cluster_), ElementsAre(Field(&Finding::code, "NotRead")));
}

TEST_F(PodFindings, ResourcesThatNoNodeHasTogether) {
  Json sliced = GpuNode("n2", 0);
  sliced["status"]["capacity"] = {{"nvidia.com/mig-1g.5gb", "7"}};
  sliced["status"]["allocatable"] = sliced["status"]["capacity"];
  Json pod = GpuPod("p", 1);
  pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/mig-1g.5gb"] = "1";
  cluster_.nodes = {NodeFrom(node_), NodeFrom(sliced)};
  cluster_.pending = {PodFrom(pod)};
  EXPECT_THAT(
      Examine(cluster_),
      ElementsAre(AllOf(
          Field(&Finding::code, "ResourceNotOffered"),
          Field(&Finding::message,
                HasSubstr("1 nvidia.com/gpu and 1 nvidia.com/mig-1g.5gb, which no single node")))));
}

// The device plugin is disabled, and a pod requests GPUs. The kubelet still shows them for some
// minutes.
struct Disabled {
  const char* what;
  void (*disable)(Json& node, ClusterFacts& cluster);
  const char* words;
};

class DisabledPlugins : public GpuClusterTest, public ::testing::WithParamInterface<Disabled> {};

TEST_P(DisabledPlugins, AreNamed) {
  GetParam().disable(node_, cluster_);
  for (const char* shown : {"8", "0"}) {
    node_["status"]["capacity"]["nvidia.com/gpu"] = shown;
    node_["status"]["allocatable"]["nvidia.com/gpu"] = "0";
    EXPECT_THAT(With({GpuPod("p", 1)}),
                ElementsAre(AllOf(Field(&Finding::code, "ResourceNotOffered"),
                                  Field(&Finding::severity, Severity::kProblem),
                                  Field(&Finding::message, HasSubstr(GetParam().words)))))
        << shown;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DisabledPlugins,
    ::testing::Values(Disabled{"Node",
                               [](Json& node, ClusterFacts& /*cluster*/) {
                                 node["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] =
                                     "false";
                               },
                               "node n1 is disabled (label nvidia.com/gpu.deploy.operands=false)"},
                      Disabled{"Operand",
                               [](Json& node, ClusterFacts& /*cluster*/) {
                                 node["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"] =
                                     "false";
                               },
                               "(label nvidia.com/gpu.deploy.device-plugin=false)"},
                      Disabled{"Policy",
                               [](Json& /*node*/, ClusterFacts& cluster) {
                                 cluster.policies[0].offers_gpus = false;
                               },
                               "(devicePlugin.enabled=false of ClusterPolicy cluster-policy)"}),
    [](const auto& each) { return std::string(each.param.what); });

TEST_F(PodFindings, ADisabledPluginWouldNotOfferAMisspelledResource) {
  cluster_.policies[0].offers_gpus = false;
  node_["status"]["allocatable"]["nvidia.com/gpu"] = "0";
  Json misspelled = GpuPod("p", 1);
  misspelled["spec"]["containers"][0]["resources"]["limits"] = {{"nvidia.com/gpus", 1}};
  EXPECT_THAT(With({misspelled}),
              ElementsAre(Field(&Finding::message, Not(HasSubstr("disabled")))));
}

TEST_F(PodFindings, ADisabledPluginOnANodeThatThePodDoesNotTolerate) {
  cluster_.policies[0].offers_gpus = false;
  node_["status"]["capacity"]["nvidia.com/gpu"] = "0";
  node_["status"]["allocatable"]["nvidia.com/gpu"] = "0";
  node_["spec"]["taints"] = Json::array({NoSchedule("team", "ml")});
  EXPECT_THAT(With({GpuPod("p", 1)}),
              ElementsAre(Field(&Finding::message, Not(HasSubstr("disabled")))));
}

// A driver manager that has paused it enables it again.
TEST_F(PodFindings, APausedPluginIsNotDisabled) {
  node_["status"]["allocatable"]["nvidia.com/gpu"] = "0";
  for (const char* value : {"paused-for-driver-upgrade", "true"}) {
    node_["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"] = value;
    EXPECT_THAT(With({GpuPod("p", 1)}),
                Not(::testing::Contains(Field(&Finding::code, "ResourceNotOffered"))))
        << value;
  }
}

TEST_F(PodFindings, ANodeThatIsSwitchedOffBesideThoseInUse) {
  Json other = GpuNode("n2", 0);
  other["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"] = "false";
  const auto line = [&](const Json& pod) {
    cluster_.nodes = {NodeFrom(node_), NodeFrom(other)};
    cluster_.pending = {PodFrom(pod)};
    const std::vector<Finding> findings = Examine(cluster_);
    return findings.empty() ? "" : LineOf(findings.back());
  };
  EXPECT_THAT(line(GpuPod("p", 1)),
              AllOf(HasSubstr("GpusInUse"), HasSubstr("the device plugin of node n2 is disabled"),
                    HasSubstr("or enable it")));
  Json elsewhere = GpuPod("p", 1);
  elsewhere["spec"]["nodeSelector"] = {{"pool", "a"}};
  node_["metadata"]["labels"]["pool"] = "a";
  EXPECT_THAT(line(elsewhere), AllOf(HasSubstr("GpusInUse"), Not(HasSubstr("disabled"))));
}

// No node of today is for it, and one is on its way.
TEST_F(PodFindings, ANodeThatAnAutoscalerBrings) {
  cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
  Json tainted = GpuNode("n1", 8);
  tainted["spec"]["taints"] = Json::array({NoSchedule("team", "ml")});
  Json cordoned = GpuNode("n1", 8);
  cordoned["spec"]["taints"] = Json::array({NoSchedule("node.kubernetes.io/unschedulable", "")});
  Json selects = GpuPod("p", 1);
  selects["spec"]["nodeSelector"] = {{"pool", "a"}};
  const Json none = Json::parse(R"({"metadata": {"name": "n1"}})");
  struct Case {
    Json node;
    Json pod;
    const char* code;
  };
  for (const auto& [node, pod, code] :
       {Case{none, GpuPod("p", 1), "ResourceNotOffered"}, Case{node_, selects, "NoNodeSelected"},
        Case{node_, GpuPod("p", 9), "MoreGpusThanAnyNode"},
        Case{tainted, GpuPod("p", 1), "TolerationMissing"},
        Case{cordoned, GpuPod("p", 1), "NodesUnschedulable"}}) {
    cluster_.nodes = {NodeFrom(node)};
    cluster_.pending = {PodFrom(pod)};
    const auto is = Field(&Finding::code, code);
    const auto problem = Field(&Finding::severity, Severity::kProblem);
    EXPECT_THAT(Examine(cluster_), ElementsAre(AllOf(is, problem)));
    cluster_.pending[0].scaled_at = Rfc3339(cluster_.now - std::chrono::minutes(14));
    EXPECT_THAT(
        Examine(cluster_),
        ElementsAre(AllOf(is, Field(&Finding::severity, Severity::kNote),
                          Field(&Finding::remedy, "wait: an autoscaler is adding a node"))));
    cluster_.pending[0].scaled_at = Rfc3339(cluster_.now - std::chrono::minutes(16));
    EXPECT_THAT(Examine(cluster_), ElementsAre(AllOf(is, problem)));
  }
}

TEST_F(PodFindings, WaitingForAFreeGpuIsANote) {
  const auto findings = With({GpuPod("p", 8)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "GpusInUse");
  EXPECT_EQ(findings[0].severity, Severity::kNote);
}

TEST_F(PodFindings, PodsOfOneOwnerAreOneLine) {
  std::vector<Json> pods;
  for (int i = 0; i < 3; ++i) {
    pods.push_back(GpuPod("p" + std::to_string(i), 9));
    pods.back()["metadata"]["ownerReferences"] = {
        {{"kind", "ReplicaSet"}, {"name", "r"}, {"controller", true}}};
  }
  const auto findings = With(pods);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].object, "pod default/p0 and 2 more of its owner");
}

TEST_F(PodFindings, APodThatNoSchedulerLooksAt) {
  cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
  Json pod = GpuPod("p", 1);
  pod["status"].erase("conditions");
  pod["spec"]["schedulerName"] = "volcano";
  const auto made = [&](std::chrono::seconds ago) {
    pod["metadata"]["creationTimestamp"] = Rfc3339(cluster_.now - ago);
    return With({pod});
  };
  EXPECT_THAT(made(std::chrono::seconds(5)), IsEmpty());
  EXPECT_THAT(made(std::chrono::seconds(30)),
              ElementsAre(Field(&Finding::severity, Severity::kNote)));
  EXPECT_THAT(made(std::chrono::seconds(90)),
              ElementsAre(AllOf(Field(&Finding::code, "SchedulerMissing"),
                                Field(&Finding::severity, Severity::kProblem),
                                Field(&Finding::message, HasSubstr("schedulerName is volcano")))));
  pod["spec"].erase("schedulerName");
  EXPECT_THAT(
      made(std::chrono::seconds(90)),
      ElementsAre(Field(&Finding::message, HasSubstr("schedulerName is default-scheduler"))));
}

}  // namespace
}  // namespace gantry::doctor
