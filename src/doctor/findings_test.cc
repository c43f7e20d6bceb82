// SPDX-License-Identifier: Apache-2.0
#include "doctor/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "doctor/refusal_findings.h"

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A GPU node as an API server would show it.
Json GpuNode(const std::string& name, long long gpus) {
  Json node = Json::parse(R"({"metadata": {"labels": {"nvidia.com/gpu.present": "true",
      "nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/cuda.driver-version.full": "535.1"}},
      "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})");
  node["metadata"]["name"] = name;
  node["status"]["capacity"] = {{"cpu", "8"}, {"nvidia.com/gpu", std::to_string(gpus)}};
  node["status"]["allocatable"] = node["status"]["capacity"];
  return node;
}

Json GpuPod(const std::string& name, int gpus) {
  Json pod = Json::parse(R"({"metadata": {"namespace": "default"}, "spec": {"tolerations": [
      {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
      "containers": [{"name": "main"}]},
      "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
      "message": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}]}})");
  pod["metadata"]["name"] = name;
  pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = std::to_string(gpus);
  return pod;
}

Json Taint(const char* key, const char* value) {
  return {{"key", key}, {"value", value}, {"effect", "NoSchedule"}};
}

class FindingsTest : public ::testing::Test {
 protected:
  FindingsTest() {
    cluster_.policies = {{.object = "ClusterPolicy cluster-policy",
                          .state = "ready",
                          .conditions = {},
                          .unsupported_fields = {}}};
    node_ = GpuNode("n1", 8);
  }
  std::vector<Finding> With(const std::vector<Json>& pods) {
    cluster_.nodes = {NodeFrom(node_)};
    for (const Json& pod : pods) {
      cluster_.pending.push_back(PodFrom(pod));
    }
    return Examine(cluster_);
  }

  ClusterFacts cluster_;
  Json node_;
};

TEST_F(FindingsTest, NothingIsWrong) { EXPECT_THAT(With({}), IsEmpty()); }

// Where the operator's own objects lie, whatever of it is there.
TEST(OperatorSpace, ThePolicysWordComesFirst) {
  ClusterFacts cluster;
  EXPECT_EQ(OperatorSpace(cluster), "");
  cluster.operators = {OperatorFrom(Json::parse(
      R"({"kind": "Deployment", "metadata": {"namespace": "a", "name": "gpu-operator"}})"))};
  EXPECT_EQ(OperatorSpace(cluster), "a");
  cluster.operands = {{.space = "b", .name = "nvidia-device-plugin-daemonset"}};
  EXPECT_EQ(OperatorSpace(cluster), "b");
  cluster.own_space = "c";
  EXPECT_EQ(OperatorSpace(cluster), "c");
  // One that the operator has not looked at, and one of the short form.
  cluster.policies = {PolicyFrom(Json::parse("{}")),
                      PolicyFrom(Json::parse(R"({"status": {"namespace": "d"}})"))};
  EXPECT_EQ(OperatorSpace(cluster), "d");
}

TEST_F(FindingsTest, AMissingToleration) {
  node_["spec"]["taints"] = Json::array({Taint("nvidia.com/gpu", "present")});
  const auto findings = With({GpuPod("p", 1)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "TolerationMissing");
  EXPECT_THAT(LineOf(findings[0]),
              AllOf(HasSubstr("pod default/p"), HasSubstr("nvidia.com/gpu=present:NoSchedule"),
                    HasSubstr("tolerations: [{key: nvidia.com/gpu, operator: Exists}]")));
}

TEST_F(FindingsTest, EachMissingTolerationIsSpelled) {
  node_["spec"]["taints"] = Json::array({Taint("team", "ml"), Taint("nvidia.com/gpu", "present")});
  EXPECT_THAT(With({GpuPod("p", 1)}),
              ElementsAre(Field(&Finding::remedy,
                                HasSubstr("[{key: nvidia.com/gpu, operator: Exists}, {key: team, "
                                          "operator: Exists}]"))));
}

TEST_F(FindingsTest, TolerationsOfEachForm) {
  node_["spec"]["taints"] = Json::array({Taint("nvidia.com/gpu", "present")});
  for (const char* toleration :
       {R"({"operator": "Exists"})", R"({"key": "nvidia.com/gpu", "operator": "Exists"})",
        R"({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"})"}) {
    Json pod = GpuPod("p", 1);
    pod["spec"]["tolerations"] = Json::array({Json::parse(toleration)});
    cluster_.pending.clear();
    EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, "GpusInUse"))) << toleration;
  }
  for (const char* toleration :
       {R"({"key": "nvidia.com/gpu", "value": "absent"})",
        R"({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"})",
        R"({"key": "other", "operator": "Exists"})"}) {
    Json pod = GpuPod("p", 1);
    pod["spec"]["tolerations"] = Json::array({Json::parse(toleration)});
    cluster_.pending.clear();
    EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, "TolerationMissing"))) << toleration;
  }
}

TEST_F(FindingsTest, ACordonedNodeNeedsNoToleration) {
  node_["spec"]["taints"] = Json::array({Taint("node.kubernetes.io/unschedulable", "")});
  EXPECT_THAT(With({GpuPod("p", 1)}),
              ElementsAre(AllOf(Field(&Finding::code, "NodesUnschedulable"),
                                Field(&Finding::severity, Severity::kProblem))));
}

TEST_F(FindingsTest, TaintsThatGoByThemselvesNeedNoToleration) {
  cluster_.operators = {OperatorFrom(Json::parse(R"({"spec": {"template": {"spec": {"containers": [
      {"env": [{"name": "STARTUP_TAINT", "value": "gpus.example.com/starting"}]}]}}},
      "status": {"availableReplicas": 1}})"))};
  for (const char* key :
       {"gpus.example.com/starting", "node.cilium.io/agent-not-ready",
        "startup-taint.cluster-autoscaler.kubernetes.io/gpu", "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted", "karpenter.sh/unregistered",
        "node.cloudprovider.kubernetes.io/uninitialized"}) {
    node_["spec"]["taints"] = Json::array({Taint(key, "")});
    cluster_.pending.clear();
    EXPECT_THAT(With({GpuPod("p", 1)}),
                ElementsAre(AllOf(Field(&Finding::code, "NodesUnschedulable"),
                                  Field(&Finding::severity, Severity::kNote))))
        << key;
  }
}

// An upgrade of its driver has cordoned it, and will uncordon it.
TEST_F(FindingsTest, ANodeThatIsBeingChangedIsWaitedFor) {
  node_["spec"]["taints"] = Json::array({Taint("node.kubernetes.io/unschedulable", "")});
  node_["metadata"]["labels"]["nvidia.com/gpu-driver-upgrade-state"] = "drain-required";
  EXPECT_THAT(With({GpuPod("p", 1)}),
              ElementsAre(AllOf(Field(&Finding::code, "NodesUnschedulable"),
                                Field(&Finding::severity, Severity::kNote),
                                Field(&Finding::remedy, HasSubstr("wait")))));
  // Its GPUs are away, and it is not cordoned.
  node_["spec"].erase("taints");
  for (const char* away : {"allocatable", "capacity"}) {
    node_["status"][away]["nvidia.com/gpu"] = "0";
    cluster_.pending.clear();
    EXPECT_THAT(With({GpuPod("p", 1)}),
                ElementsAre(AllOf(Field(&Finding::code, "ResourceNotOffered"),
                                  Field(&Finding::severity, Severity::kNote))))
        << away;
  }
}

TEST_F(FindingsTest, APodThatIsNotToBeScheduledYet) {
  Json pod = GpuPod("p", 9);
  pod["spec"]["schedulingGates"] = Json::array({{{"name", "kueue.x-k8s.io/admission"}}});
  EXPECT_THAT(With({pod}), IsEmpty());
}

TEST_F(FindingsTest, MoreGpusThanAnyNodeHas) {
  const auto findings = With({GpuPod("p", 9)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "MoreGpusThanAnyNode");
  EXPECT_THAT(findings[0].message, AllOf(HasSubstr("9 nvidia.com/gpu"), HasSubstr("more than 8")));
}

TEST_F(FindingsTest, TheGpusOfAllContainersCount) {
  Json pod = GpuPod("p", 5);
  pod["spec"]["containers"].push_back(pod["spec"]["containers"][0]);
  EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, "MoreGpusThanAnyNode")));
}

// A side car runs beside all that come after it.
TEST(PodWants, AsTheSchedulerCounts) {
  struct Case {
    const char* containers;  // init containers and others: GPUs, and a side car's star
    long long gpus;
  };
  const auto wants = [](const char* containers) {
    Json pod;
    const std::vector<std::string> lists = Split(containers, '|');
    for (size_t i = 0; i < lists.size(); ++i) {
      for (const std::string& each : Split(lists[i], ' ')) {
        if (each.empty()) {
          continue;
        }
        Json container;
        container["resources"]["limits"]["nvidia.com/gpu"] = each.substr(0, 1);
        if (each.ends_with('*')) {
          container["restartPolicy"] = "Always";
        }
        pod["spec"][i == 0 ? "initContainers" : "containers"].push_back(container);
      }
    }
    return PodWants(pod);
  };
  for (const auto& [containers, gpus] : std::initializer_list<Case>{{"|1 2", 3},
                                                                    {"4 1|1 2", 4},
                                                                    {"2|1 2", 3},
                                                                    {"1*|2", 3},
                                                                    {"1* 1*|2", 4},
                                                                    {"1* 4|2", 5},
                                                                    {"4 1*|2", 4},
                                                                    {"1*|", 1},
                                                                    {"3|", 3}}) {
    EXPECT_EQ(wants(containers), (GpuCounts{{"nvidia.com/gpu", gpus}})) << containers;
  }
  EXPECT_THAT(wants("0|0"), IsEmpty());
}

// The network operator's resources have NVIDIA's domain too; a name that is mistyped is no such.
TEST(PodWants, GpusAlone) {
  for (const char* name : {"nvidia.com/gpu", "nvidia.com/gpus", "nvidia.com/mig-1g.5gb",
                           "nvidia.com/gpu.shared", "nvidia.com/GA102GL_A10"}) {
    const Json resources = {{name, "1"}};
    EXPECT_EQ(GpusIn(&resources), (GpuCounts{{name, 1}}));
  }
  for (const char* name : {"nvidia.com/hostdev", "nvidia.com/mlnxnics", "nvidia.com/rdma_host_dev",
                           "nvidia.com/sriov_rdma_vf", "rdma/rdma_shared_device_a", "cpu"}) {
    const Json resources = {{name, "1"}};
    EXPECT_THAT(GpusIn(&resources), IsEmpty()) << name;
  }
}

TEST_F(FindingsTest, AResourceThatNobodyOffers) {
  Json pod = GpuPod("p", 1);
  pod["spec"]["containers"][0]["resources"]["limits"] = {{"nvidia.com/mig-1g.5gb", 1}};
  const auto findings = With({pod});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "ResourceNotOffered");
  EXPECT_THAT(findings[0].message, HasSubstr("offered: nvidia.com/gpu"));
}

// A node that joins has none yet.
TEST_F(FindingsTest, AResourceThatANodeMayOfferYet) {
  node_["status"].erase("capacity");
  node_["status"].erase("allocatable");
  node_["metadata"]["labels"]["nvidia.com/gpu.deploy.operator-validator"] = "true";
  EXPECT_THAT(With({GpuPod("p", 1)}),
              ElementsAre(AllOf(Field(&Finding::code, "ResourceNotOffered"),
                                Field(&Finding::severity, Severity::kNote),
                                Field(&Finding::remedy, HasSubstr("node n1")))));
  node_["metadata"]["labels"]["nvidia.com/gpu.validation"] = "ready";
  cluster_.pending.clear();
  EXPECT_THAT(With({GpuPod("p", 1)}),
              ElementsAre(AllOf(Field(&Finding::code, "ResourceNotOffered"),
                                Field(&Finding::severity, Severity::kProblem))));
}

// One beside those that offer theirs.
TEST_F(FindingsTest, APodThatANodeMayTakeYet) {
  Json joining = GpuNode("n2", 0);
  joining["status"]["capacity"] = Json::object();
  joining["status"]["allocatable"] = Json::object();
  joining["metadata"]["labels"]["pool"] = "new";
  joining["metadata"]["labels"]["nvidia.com/gpu.deploy.operator-validator"] = "true";
  Json selects = GpuPod("p", 1);
  selects["spec"]["nodeSelector"] = {{"pool", "new"}};
  Json elsewhere = GpuPod("p", 1);
  elsewhere["spec"]["nodeSelector"] = {{"pool", "other"}};
  const auto waits =
      AllOf(Field(&Finding::code, "ResourceNotOffered"), Field(&Finding::severity, Severity::kNote),
            Field(&Finding::remedy, HasSubstr("wait: node n2")));
  const auto examined = [&](const Json& pod) {
    cluster_.nodes = {NodeFrom(node_), NodeFrom(joining)};
    cluster_.pending = {PodFrom(pod)};
    return Examine(cluster_);
  };
  EXPECT_THAT(examined(selects), ElementsAre(waits));
  EXPECT_THAT(examined(GpuPod("p", 9)), ElementsAre(waits));
  EXPECT_THAT(examined(elsewhere), ElementsAre(Field(&Finding::code, "NoNodeSelected")));
  // Its driver is upgraded, and it has too few.
  joining["metadata"]["labels"]["nvidia.com/gpu-driver-upgrade-state"] = "drain-required";
  EXPECT_THAT(examined(selects), ElementsAre(waits));
  joining["status"]["capacity"]["nvidia.com/gpu"] = "8";
  EXPECT_THAT(examined(GpuPod("p", 9)), ElementsAre(Field(&Finding::code, "MoreGpusThanAnyNode")));
  joining["status"]["capacity"] = Json::object();
  joining["metadata"]["labels"].erase("nvidia.com/gpu-driver-upgrade-state");
  joining["metadata"]["labels"].erase("nvidia.com/gpu.present");
  EXPECT_THAT(examined(selects), ElementsAre(Field(&Finding::code, "NoNodeSelected")));
  EXPECT_THAT(examined(GpuPod("p", 9)), ElementsAre(Field(&Finding::code, "MoreGpusThanAnyNode")));
}

TEST_F(FindingsTest, WhoMayNotSeeNodesDoesNotKnowWhatTheyOffer) {
  cluster_.unread = {{.what = kNodesPart, .error = {.kind = ErrorKind::kTimeout, .message = ""}}};
  cluster_.pending = {PodFrom(GpuPod("p", 1))};
  EXPECT_THAT(Examine(cluster_), ElementsAre(Field(&Finding::code, "NotRead")));
}

TEST_F(FindingsTest, ASelectorThatTakesNoGpuNode) {
  Json pod = GpuPod("p", 1);
  pod["spec"]["nodeSelector"] = {{"nvidia.com/gpu.product", "Tesla-T5"}};
  EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, "NoNodeSelected")));
}

TEST_F(FindingsTest, AffinityOfEachOperator) {
  struct Case {
    const char* expression;
    const char* code;
  };
  for (const auto& [expression, code] : std::initializer_list<Case>{
           {R"({"key": "nvidia.com/gpu.product", "operator": "In", "values": ["Tesla-T4"]})",
            "GpusInUse"},
           {R"({"key": "nvidia.com/gpu.product", "operator": "NotIn", "values": ["Tesla-T4"]})",
            "NoNodeSelected"},
           {R"({"key": "nvidia.com/gpu.product", "operator": "Exists"})", "GpusInUse"},
           {R"({"key": "nvidia.com/gpu.product", "operator": "DoesNotExist"})", "NoNodeSelected"},
           {R"({"key": "count", "operator": "Gt", "values": ["7"]})", "GpusInUse"},
           {R"({"key": "count", "operator": "Lt", "values": ["7"]})", "NoNodeSelected"}}) {
    node_["metadata"]["labels"]["count"] = "8";
    Json pod = GpuPod("p", 1);
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
       ["nodeSelectorTerms"] = {{{"matchExpressions", {Json::parse(expression)}}}};
    cluster_.pending.clear();
    EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, code))) << expression;
  }
}

// Another field than its name a node has not here; an empty term takes none.
TEST_F(FindingsTest, AffinityToNodesByName) {
  struct Case {
    const char* term;
    const char* code;
  };
  for (const auto& [term, code] : std::initializer_list<Case>{
           {R"({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]})",
            "GpusInUse"},
           {R"({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]})",
            "NoNodeSelected"},
           {R"({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]})",
            "NoNodeSelected"},
           {R"({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
                "matchExpressions": [{"key": "pool", "operator": "Exists"}]})",
            "NoNodeSelected"},
           {"{}", "NoNodeSelected"}}) {
    Json pod = GpuPod("p", 1);
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
       ["nodeSelectorTerms"] = Json::array({Json::parse(term)});
    cluster_.pending.clear();
    EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, code))) << term;
  }
}

// Without a selector it makes a pod for each node, whatever that has.
TEST_F(FindingsTest, ADaemonSetsPodOnANodeWithoutGpus) {
  Json pod = GpuPod("p", 1);
  pod["metadata"]["ownerReferences"] = {
      {{"kind", "DaemonSet"}, {"name", "d"}, {"controller", true}}};
  pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
     ["nodeSelectorTerms"] = Json::array({Json::parse(
         R"({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["cpu1"]}]})")});
  const auto beside = [&](Json node) {
    cluster_.nodes = {NodeFrom(node_), NodeFrom(node)};
    cluster_.pending = {PodFrom(pod)};
    return Examine(cluster_);
  };
  EXPECT_THAT(beside(Json::parse(R"({"metadata": {"name": "cpu1"}})")),
              ElementsAre(AllOf(Field(&Finding::code, "NoNodeSelected"),
                                Field(&Finding::message,
                                      HasSubstr("node cpu1, which does not have 1 nvidia.com/gpu")),
                                Field(&Finding::remedy, HasSubstr("nvidia.com/gpu.present")))));
  // It has GPUs: fewer, or none for a reason that its own findings tell.
  pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "4";
  EXPECT_THAT(beside(GpuNode("cpu1", 2)),
              ElementsAre(AllOf(Field(&Finding::code, "NoNodeSelected"),
                                Field(&Finding::remedy, HasSubstr("that node offers")))));
  EXPECT_THAT(beside(GpuNode("cpu1", 0)), IsEmpty());
}

TEST_F(FindingsTest, ResourcesThatNoNodeHasTogether) {
  Json sliced = GpuNode("n2", 0);
  sliced["status"]["capacity"] = {{"nvidia.com/mig-1g.5gb", "7"}};
  sliced["status"]["allocatable"] = sliced["status"]["capacity"];
  Json pod = GpuPod("p", 1);
  pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/mig-1g.5gb"] = "1";
  cluster_.nodes = {NodeFrom(node_), NodeFrom(sliced)};
  cluster_.pending = {PodFrom(pod)};
  EXPECT_THAT(
      Examine(cluster_),
      ElementsAre(
          AllOf(Field(&Finding::code, "ResourceNotOffered"),
                Field(&Finding::message,
                      HasSubstr("1 nvidia.com/gpu and 1 nvidia.com/mig-1g.5gb, which no node")))));
}

// Somebody has switched the device plugin off, and then asks for GPUs.
TEST_F(FindingsTest, GpusThatAreSwitchedOff) {
  struct Case {
    const char* what;
    void (*change)(Json& node, ClusterFacts& cluster);
    const char* words;
  };
  const Json well = node_;
  for (const auto& [what, change, words] : std::initializer_list<Case>{
           {"the node",
            [](Json& node, ClusterFacts& /*cluster*/) {
              node["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] = "false";
            },
            "node n1 is switched off (label nvidia.com/gpu.deploy.operands=false)"},
           {"the operand",
            [](Json& node, ClusterFacts& /*cluster*/) {
              node["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"] = "false";
            },
            "(label nvidia.com/gpu.deploy.device-plugin=false)"},
           {"the policy",
            [](Json& /*node*/, ClusterFacts& cluster) { cluster.policies[0].offers_gpus = false; },
            "(devicePlugin.enabled=false of ClusterPolicy cluster-policy)"}}) {
    cluster_.policies[0].offers_gpus = true;
    node_ = well;
    change(node_, cluster_);
    // The kubelet still shows them for some minutes.
    for (const char* shown : {"8", "0"}) {
      node_["status"]["capacity"]["nvidia.com/gpu"] = shown;
      node_["status"]["allocatable"]["nvidia.com/gpu"] = "0";
      cluster_.pending.clear();
      EXPECT_THAT(With({GpuPod("p", 1)}),
                  ElementsAre(AllOf(Field(&Finding::code, "ResourceNotOffered"),
                                    Field(&Finding::severity, Severity::kProblem),
                                    Field(&Finding::message, HasSubstr(words)))))
          << what;
    }
  }
  // No device plugin would offer that.
  Json misspelled = GpuPod("p", 1);
  misspelled["spec"]["containers"][0]["resources"]["limits"] = {{"nvidia.com/gpus", 1}};
  cluster_.pending.clear();
  EXPECT_THAT(With({misspelled}),
              ElementsAre(Field(&Finding::message, Not(HasSubstr("switched off")))));
  // It could not be put there at all.
  cluster_.policies[0].offers_gpus = false;
  node_ = well;
  node_["status"]["capacity"]["nvidia.com/gpu"] = "0";
  node_["status"]["allocatable"]["nvidia.com/gpu"] = "0";
  node_["spec"]["taints"] = Json::array({Taint("team", "ml")});
  cluster_.pending.clear();
  EXPECT_THAT(With({GpuPod("p", 1)}),
              ElementsAre(Field(&Finding::message, Not(HasSubstr("switched off")))));
  // A driver manager that has paused it takes that back; nobody has switched this one off.
  for (const char* value : {"paused-for-driver-upgrade", "true"}) {
    cluster_.policies[0].offers_gpus = true;
    node_ = well;
    node_["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"] = value;
    node_["status"]["allocatable"]["nvidia.com/gpu"] = "0";
    cluster_.pending.clear();
    EXPECT_THAT(With({GpuPod("p", 1)}), testing::Each(Field(&Finding::code, "GpusUnhealthy")))
        << value;
  }
}

// The GPUs of the others are taken.
TEST_F(FindingsTest, ANodeThatATaintKeepsPodsFrom) {
  Json tainted = GpuNode("n2", 8);
  const auto beside = [&](const Json& other) {
    cluster_.nodes = {NodeFrom(node_), NodeFrom(other)};
    cluster_.pending = {PodFrom(GpuPod("p", 1))};
    return Examine(cluster_);
  };
  const auto in_use = Field(&Finding::code, "GpusInUse");
  tainted["spec"]["taints"] = Json::array({Taint("nvidia.com/gpu", "present")});
  EXPECT_THAT(
      beside(tainted),
      ElementsAre(
          AllOf(in_use,
                Field(&Finding::message,
                      HasSubstr("nvidia.com/gpu=present:NoSchedule keeps it from node n2")),
                Field(&Finding::remedy, HasSubstr("[{key: nvidia.com/gpu, operator: Exists}]")))));
  // Such a taint goes, or is no matter of tolerations; or its GPUs are away.
  for (const char* key : {"node.kubernetes.io/unschedulable", "karpenter.sh/disrupted"}) {
    tainted["spec"]["taints"] = Json::array({Taint("nvidia.com/gpu", "present"), Taint(key, "")});
    EXPECT_THAT(
        beside(tainted),
        ElementsAre(AllOf(in_use, Field(&Finding::remedy, "wait, end other pods, or add a node"))))
        << key;
  }
  tainted["spec"]["taints"] = Json::array({Taint("nvidia.com/gpu", "present")});
  tainted["status"]["allocatable"]["nvidia.com/gpu"] = "0";
  EXPECT_THAT(beside(tainted),
              testing::Contains(
                  AllOf(in_use, Field(&Finding::remedy, "wait, end other pods, or add a node"))));
}

// What else might be done, where the GPUs of the others are taken.
TEST_F(FindingsTest, ANodeThatIsCordonedBesideThoseInUse) {
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
  other["spec"]["taints"] = Json::array({Taint("node.kubernetes.io/unschedulable", "")});
  EXPECT_THAT(line(), told);
  // It is ill besides, is being changed, or has too few.
  other["spec"]["taints"].push_back(Taint("node.kubernetes.io/not-ready", ""));
  EXPECT_THAT(line(), Not(HasSubstr("cordon")));
  other["spec"]["taints"].erase(1);
  other["metadata"]["labels"]["nvidia.com/gpu-driver-upgrade-state"] = "drain-required";
  EXPECT_THAT(line(), Not(HasSubstr("cordon")));
  other["metadata"]["labels"].erase("nvidia.com/gpu-driver-upgrade-state");
  other["status"]["allocatable"]["nvidia.com/gpu"] = "0";
  EXPECT_THAT(line(), Not(HasSubstr("cordon")));
}

TEST_F(FindingsTest, ANodeThatIsSwitchedOffBesideThoseInUse) {
  Json other = GpuNode("n2", 0);
  other["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"] = "false";
  const auto line = [&](const Json& pod) {
    cluster_.nodes = {NodeFrom(node_), NodeFrom(other)};
    cluster_.pending = {PodFrom(pod)};
    const std::vector<Finding> findings = Examine(cluster_);
    return findings.empty() ? "" : LineOf(findings.back());
  };
  EXPECT_THAT(line(GpuPod("p", 1)), AllOf(HasSubstr("GpusInUse"),
                                          HasSubstr("the device plugin of node n2 is switched "
                                                    "off"),
                                          HasSubstr("switch it on again")));
  Json elsewhere = GpuPod("p", 1);
  elsewhere["spec"]["nodeSelector"] = {{"pool", "a"}};
  node_["metadata"]["labels"]["pool"] = "a";
  EXPECT_THAT(line(elsewhere), AllOf(HasSubstr("GpusInUse"), Not(HasSubstr("switched off"))));
}

// No node of today is for it, and one is on its way.
TEST_F(FindingsTest, ANodeThatAnAutoscalerBrings) {
  cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
  Json tainted = GpuNode("n1", 8);
  tainted["spec"]["taints"] = Json::array({Taint("team", "ml")});
  Json cordoned = GpuNode("n1", 8);
  cordoned["spec"]["taints"] = Json::array({Taint("node.kubernetes.io/unschedulable", "")});
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
    EXPECT_THAT(Examine(cluster_),
                ElementsAre(AllOf(is, Field(&Finding::severity, Severity::kNote),
                                  Field(&Finding::remedy, "wait: an autoscaler brings a node"))));
    cluster_.pending[0].scaled_at = Rfc3339(cluster_.now - std::chrono::minutes(16));
    EXPECT_THAT(Examine(cluster_), ElementsAre(AllOf(is, problem)));
  }
}

TEST_F(FindingsTest, WaitingForAFreeGpuIsANote) {
  const auto findings = With({GpuPod("p", 8)});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "GpusInUse");
  EXPECT_EQ(findings[0].severity, Severity::kNote);
}

TEST_F(FindingsTest, PodsOfOneOwnerAreOneLine) {
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

TEST_F(FindingsTest, RequestsWithoutLimits) {
  const RefusalFacts refusal = {
      .object = "Deployment default/train",
      .message =
          "Error creating: Pod \"train-5d-x\" is invalid: "
          "spec.containers[0].resources.limits: Required value: Limit must be set for non "
          "overcommitable resources"};
  cluster_.refusals = {refusal, refusal};
  const auto findings = With({});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "LimitsMissing");
  EXPECT_THAT(LineOf(findings[0]), AllOf(HasSubstr("Deployment default/train"), HasSubstr("limits"),
                                         HasSubstr("requests")));
}

TEST_F(FindingsTest, AQuotaThatIsUsedUp) {
  cluster_.refusals = {
      {.object = "Job default/j",
       .message = "Error creating: pods \"j-x\" is forbidden: exceeded quota: gpus, requested: "
                  "requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=2, limited: "
                  "requests.nvidia.com/gpu=2"}};
  const auto findings = With({});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "QuotaExceeded");
  EXPECT_THAT(findings[0].message, HasSubstr("exceeded quota: gpus"));
}

TEST_F(FindingsTest, OtherRefusals) {
  struct Case {
    const char* message;
    bool operand;
    const char* code;  // nullptr: none
  };
  for (const auto& [message, operand, code] : std::initializer_list<Case>{
           {"pods \"x\" is forbidden: pod rejected: RuntimeClass \"nvidia\" not found", false,
            "RuntimeClassMissing"},
           {"pods \"x\" is forbidden: pod rejected: RuntimeClass \"gvisor\" not found", false,
            nullptr},
           {"pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": privileged", true,
            "PodSecurityForbids"},
           {"pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": privileged",
            false, nullptr},
           {"pods \"x\" is forbidden: insufficient quota to match these scopes: [{PriorityClass In "
            "[system-node-critical]}]",
            true, "PriorityQuotaMissing"},
           {"Internal error occurred: failed calling webhook \"a.b.c\": no endpoints available",
            true, "WebhookFails"},
           {"Internal error occurred: failed calling webhook \"a.b.c\": no endpoints available",
            false, nullptr},
           {"pods \"x\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1", false,
            nullptr},
           {"pods \"x\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1", true,
            "PodsRefused"},
           {"admission webhook \"validate.kyverno.svc-fail\" denied the request: no hostPath", true,
            "PodsRefused"},
           {"admission webhook \"validate.kyverno.svc-fail\" denied the request: no hostPath",
            false, nullptr},
           {"pods \"x\" is forbidden: maximum cpu usage per Container is 1, but limit is 2", true,
            "PodsRefused"},
           {"pods \"x\" is forbidden: maximum nvidia.com/gpu usage per Container is 1, but limit "
            "is 2",
            false, "QuotaExceeded"},
           {"serviceaccount \"y\" not found", true, "PodsRefused"}}) {
    cluster_.refusals = {{.object = "DaemonSet a/x", .message = message, .operand = operand}};
    EXPECT_EQ(ExamineRefusal(cluster_.refusals[0]).has_value(), code != nullptr) << message;
    if (code == nullptr) {
      EXPECT_THAT(With({}), IsEmpty()) << message;
    } else {
      EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, code))) << message;
    }
  }
}

// Whatever refuses pods that want GPUs is told, in words for whoever runs them.
TEST_F(FindingsTest, RefusalsOfPodsWithGpus) {
  struct Case {
    const char* message;
    const char* code;  // nullptr: none
    const char* remedy;
  };
  for (const auto& [message, code, remedy] : std::initializer_list<Case>{
           {"pods \"x\" is forbidden: exceeded quota: q, requested: requests.cpu=8, used: "
            "requests.cpu=2, limited: requests.cpu=8",
            "PodsRefused", "ResourceQuota of its namespace"},
           {"pods \"x\" is forbidden: failed quota: q: must specify limits.cpu for: main",
            "PodsRefused", "resources of its pod template"},
           {"admission webhook \"validate.kyverno.svc-fail\" denied the request: no hostPath",
            "PodsRefused", "exempt its namespace"},
           {"ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", "PodsRefused",
            "exempt its namespace"},
           {"pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": privileged",
            "PodsRefused", "pod-security.kubernetes.io/enforce"},
           {"pods \"x\" is forbidden: error looking up service account default/y: serviceaccount "
            "\"y\" not found",
            "PodsRefused", "serviceAccountName"},
           {"Internal error occurred: failed calling webhook \"a.b.c\": no endpoints available",
            "PodsRefused", "repair that webhook"},
           {"pods \"x\" is forbidden: minimum memory usage per Container is 1Gi", "PodsRefused",
            "LimitRange of its namespace"},
           {"something else", "PodsRefused", "change what refuses them"},
           // What GPUs have to do with has words of its own.
           {"pods \"x\" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=1",
            "QuotaExceeded", "ResourceQuota"},
           {"pods \"x\" is forbidden: unable to create new content in namespace a because it is "
            "being terminated",
            nullptr, ""}}) {
    cluster_.refusals = {
        {.object = "Deployment default/train", .message = message, .wants_gpus = true}};
    EXPECT_EQ(ExamineRefusal(cluster_.refusals[0]).has_value(), code != nullptr) << message;
    if (code == nullptr) {
      EXPECT_THAT(With({}), IsEmpty()) << message;
      continue;
    }
    EXPECT_THAT(With({}), ElementsAre(AllOf(Field(&Finding::code, code),
                                            Field(&Finding::object, "Deployment default/train"),
                                            Field(&Finding::remedy, HasSubstr(remedy)))))
        << message;
    EXPECT_THAT(With({})[0].remedy, Not(HasSubstr("operator"))) << message;
  }
}

TEST_F(FindingsTest, LimitsThatCannotBe) {
  for (const char* message : {"Error creating: Pod \"x\" is invalid: "
                              "spec.containers[0].resources.requests: Invalid value: "
                              "\"1\": must be equal to nvidia.com/gpu limit of 2",
                              "Error creating: Pod \"x\" is invalid: "
                              "spec.containers[0].resources.limits[nvidia.com/gpu]: "
                              "Invalid value: \"500m\": must be an integer"}) {
    cluster_.refusals = {{.object = "PyTorchJob default/train", .message = message}};
    EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "LimitsInvalid"))) << message;
  }
  cluster_.refusals = {{.object = "PyTorchJob default/train",
                        .message = "spec.containers[0].resources.limits[example.com/nic]: Invalid "
                                   "value: \"500m\": must be an integer"}};
  EXPECT_THAT(With({}), IsEmpty());
}

// A name that somebody mistyped.
TEST_F(FindingsTest, ARuntimeClassOfPodsWithGpus) {
  cluster_.refusals = {
      {.object = "Deployment default/train",
       .message = "Error creating: pods \"x\" is forbidden: pod rejected: RuntimeClass \"nvida\" "
                  "not found"}};
  EXPECT_THAT(With({}), IsEmpty());
  cluster_.refusals[0].wants_gpus = true;
  EXPECT_THAT(With({}),
              ElementsAre(AllOf(Field(&Finding::code, "RuntimeClassMissing"),
                                Field(&Finding::message, HasSubstr("\"nvida\" not found")))));
}

TEST_F(FindingsTest, ARefusedOperandIsNotSaidToBeUnready) {
  cluster_.operands = {{.space = "a", .name = "x", .desired = 1, .ready = 0, .updated = 0},
                       {.space = "a", .name = "xy", .desired = 1, .ready = 0, .updated = 0}};
  cluster_.refusals = {{.object = "DaemonSet a/x",
                        .message = "pods \"x\" is forbidden: violates PodSecurity \"baseline\"",
                        .operand = true}};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "PodSecurityForbids"),
                                    AllOf(Field(&Finding::code, "OperandNotReady"),
                                          Field(&Finding::object, "DaemonSet xy"))));
}

TEST_F(FindingsTest, TheApiServersWordsAndWhatToDo) {
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

// It has no section in the ClusterPolicy.
TEST_F(FindingsTest, ARefusalOfTheOperator) {
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

TEST_F(FindingsTest, AnOperatorThatDoesNotRun) {
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
  container.space = "a";
  container.app = "gpu-operator";
  container.waiting = "ErrImagePull";
  container.message = "not found";
  cluster_.operand_containers = {container};
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "ImageMissing")));
}

// A node that is not well keeps one pod of an operand from being ready, and is told itself.
TEST_F(FindingsTest, OperandsThatWaitForANode) {
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

TEST_F(FindingsTest, APolicyBesideTheOneThatCounts) {
  cluster_.policies.push_back({.object = "ClusterPolicy second",
                               .state = "ignored",
                               .conditions = {},
                               .unsupported_fields = {}});
  EXPECT_THAT(With({}), ElementsAre(AllOf(Field(&Finding::code, "PolicyIgnored"),
                                          Field(&Finding::object, "ClusterPolicy second"))));
}

// Which of the scheduler's counts are of nodes that never had the GPUs?
TEST_F(FindingsTest, GpusAreFreeAndOtherResourcesAreNot) {
  struct Case {
    const char* message;
    const char* code;
  };
  cluster_.nodes = {};
  for (const auto& [message, code] : std::initializer_list<Case>{
           {"0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu. "
            "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod.",
            "NodeResourcesShort"},
           {"0/2 nodes are available: 1 Insufficient memory, 1 Insufficient nvidia.com/gpu.",
            "NodeResourcesShort"},
           {"0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient nvidia.com/gpu.",
            "GpusInUse"},
           {"0/2 nodes are available: 2 Insufficient nvidia.com/gpu.", "GpusInUse"},
           // A node without GPUs is one that lacks them.
           {"0/2 nodes are available: 1 Too many pods, 1 Insufficient nvidia.com/gpu.",
            "PodDoesNotFit"},
           {"0/2 nodes are available: 1 Too many pods, 2 Insufficient nvidia.com/gpu.",
            "GpusInUse"}}) {
    Json pod = GpuPod("p", 1);
    pod["status"]["conditions"][0]["message"] = message;
    cluster_.nodes = {NodeFrom(node_), NodeFrom(Json::parse(R"({"metadata": {"name": "cpu1"}})"))};
    cluster_.pending = {PodFrom(pod)};
    EXPECT_THAT(Examine(cluster_), ElementsAre(Field(&Finding::code, code))) << message;
  }
}

TEST_F(FindingsTest, APodThatFitsNowhereForAnotherReason) {
  cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
  struct Case {
    const char* message;
    const char* code;  // nullptr: none
    Severity severity = Severity::kProblem;
  };
  for (
      const auto& [message, code, severity] : std::initializer_list<Case>{
          {"0/1 nodes are available: 1 Too many pods.", "PodDoesNotFit"},
          {"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: "
           "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
           "PodDoesNotFit"},
          {"0/2 nodes are available: 1 node(s) had untolerated taint {a: b}, 1 node(s) didn't "
           "match "
           "pod anti-affinity rules. no new claims to deallocate, preemption: 0/2 nodes are "
           "available: 1 No preemption victims found for incoming pod.",
           "PodDoesNotFit"},
          // The node that lacks ports may have no GPUs.
          {"0/2 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, "
           "1 Insufficient nvidia.com/gpu.",
           "PodDoesNotFit", Severity::kNote},
          {"0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
           "PodDoesNotFit"},
          {"0/1 nodes are available: 1 node(s) were refused by a plugin of others.",
           "PodDoesNotFit", Severity::kNote},
          {"0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't satisfy "
           "plugin(s) [NodeAffinity].",
           "GpusInUse", Severity::kNote},
          // Their own findings tell of these.
          {"0/4 nodes are available: 1 node(s) had taint {a: b}, that the pod didn't tolerate, 1 "
           "node(s) had untolerated taint(s), 1 node(s) were unschedulable, 1 node(s) didn't match "
           "Pod's node affinity/selector.",
           nullptr},
          // Another scheduler's.
          {"pod group is not ready, 1 Pending, 2 minAvailable", nullptr},
          {"", nullptr}}) {
    Json pod = GpuPod("p", 1);
    pod["status"]["conditions"][0]["message"] = message;
    cluster_.nodes = {NodeFrom(node_), NodeFrom(Json::parse(R"({"metadata": {"name": "cpu1"}})"))};
    cluster_.pending = {PodFrom(pod)};
    if (code == nullptr) {
      EXPECT_THAT(Examine(cluster_), IsEmpty()) << message;
      continue;
    }
    EXPECT_THAT(Examine(cluster_), ElementsAre(AllOf(Field(&Finding::code, code),
                                                     Field(&Finding::severity, severity))))
        << message;
    // Volumes are made meanwhile.
    pod["metadata"]["creationTimestamp"] = Rfc3339(cluster_.now - std::chrono::minutes(1));
    cluster_.pending = {PodFrom(pod)};
    EXPECT_THAT(Examine(cluster_), ElementsAre(Field(&Finding::severity, Severity::kNote)))
        << message;
  }
}

TEST_F(FindingsTest, APodThatNoSchedulerLooksAt) {
  cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
  Json pod = GpuPod("p", 1);
  pod["status"].erase("conditions");
  pod["spec"]["schedulerName"] = "volcano";
  const auto made = [&](std::chrono::seconds ago) {
    pod["metadata"]["creationTimestamp"] = Rfc3339(cluster_.now - ago);
    cluster_.pending.clear();
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

TEST_F(FindingsTest, ANodeWithoutADriver) {
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

TEST_F(FindingsTest, AnUnhealthyGpu) {
  node_["status"]["allocatable"]["nvidia.com/gpu"] = "7";
  const auto findings = With({});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "GpusUnhealthy");
  EXPECT_THAT(findings[0].message, HasSubstr("1 of its 8"));
  // Who waits for it is not told to ask for less, nor that he waits for others.
  EXPECT_THAT(With({GpuPod("p", 8)}), ElementsAre(Field(&Finding::code, "GpusUnhealthy")));
  cluster_.pending.clear();
  EXPECT_THAT(With({GpuPod("p", 9)}), ElementsAre(Field(&Finding::code, "GpusUnhealthy"),
                                                  Field(&Finding::code, "MoreGpusThanAnyNode")));
}

TEST_F(FindingsTest, ANodeThatIsNotReady) {
  node_["status"]["conditions"][0]["status"] = "Unknown";
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "NodeNotReady")));
}

TEST_F(FindingsTest, WhatTheChartWasGivenForNothingIsNoted) {
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

TEST_F(FindingsTest, ADefinitionThatDropsFieldsIsNamed) {
  cluster_.policies = {PolicyFrom(
      Json::parse(R"({"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "status": {
      "state": "ready", "conditions": [{"type": "DefinitionsCurrent", "status": "False",
      "reason": "DefinitionOutdated", "message": "clusterpolicies.nvidia.com drops a"}]}})"))};
  EXPECT_THAT(With({}),
              ElementsAre(AllOf(Field(&Finding::code, "DefinitionOutdated"),
                                Field(&Finding::severity, Severity::kProblem),
                                Field(&Finding::message, "clusterpolicies.nvidia.com drops a"))));
}

TEST_F(FindingsTest, OperandsAndPolicies) {
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

// Nothing is wrong: it follows a node that is not done.
TEST_F(FindingsTest, APolicyThatWaitsForANode) {
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
  cluster_.operands = {{.space = "a", .name = "x", .desired = 1}};
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
  cluster_.operands = {{.space = "a", .name = "x", .desired = 1}};
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
TEST_F(FindingsTest, APolicyWhoseLastChangeNobodyActsOn) {
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
  const auto told = AllOf(Field(&Finding::code, "ClusterPolicyNotReady"),
                          Field(&Finding::severity, Severity::kProblem),
                          Field(&Finding::message, HasSubstr("has not acted on its last change")));
  EXPECT_THAT(changed(std::chrono::seconds(50)), ElementsAre(waits));
  EXPECT_THAT(changed(std::chrono::seconds(70)), ElementsAre(told));
  policy["status"]["state"] = "ready";
  EXPECT_THAT(changed(std::chrono::seconds(70)), ElementsAre(told));
  // The operator was just started, or does not run: that is told.
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

// A change of an operand takes its pods away one by one, as somebody may.
TEST_F(FindingsTest, APolicyThatWaitsForARollOut) {
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

TEST_F(FindingsTest, AnOperandThatFindsNoRoom) {
  cluster_.operands = {
      {.name = "x", .desired = 1, .scheduler = "0/1 nodes are available: 1 Insufficient memory."}};
  EXPECT_THAT(With({}),
              ElementsAre(AllOf(Field(&Finding::code, "OperandNotReady"),
                                Field(&Finding::message, HasSubstr("1 Insufficient memory")),
                                Field(&Finding::remedy, HasSubstr("resources")))));
}

TEST_F(FindingsTest, ADriverThatGetsNoNodes) {
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

TEST_F(FindingsTest, ATaintThatNoOperandTolerates) {
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
TEST_F(FindingsTest, SeeTheOtherFindingsNeverStandsAlone) {
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

TEST_F(FindingsTest, Op364_WhatTheApiServerRefusesHasARemedy) {
  cluster_.policies = {PolicyFrom(
      Json::parse(R"({"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "status": {
      "state": "notReady", "conditions": [{"type": "Error", "status": "True",
      "reason": "ReconcileFailed", "message": "create daemonset x: spec.template.spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy"}]}})"))};
  EXPECT_THAT(With({}),
              ElementsAre(AllOf(Field(&Finding::code, "ClusterPolicyNotReady"),
                                Field(&Finding::remedy, HasSubstr("--allow-privileged")))));
}

// The operator's namespace was deleted.
TEST_F(FindingsTest, WhatFollowsFromAStoppedOperatorIsNotTold) {
  node_["metadata"]["labels"]["nvidia.com/gpu.deploy.device-plugin"] = "true";
  node_["status"]["allocatable"]["nvidia.com/gpu"] = "0";
  cluster_.now = WallTime(std::chrono::hours(24 * 365 * 56));
  cluster_.lease_renewed = "2020-01-01T00:00:00Z";
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "OperatorStopped")));
}

TEST_F(FindingsTest, Op1368_ATaintThatAnNvidiaDriverDoesNotTolerate) {
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
            "TaintNotTolerated  NVIDIADriver pool-gpu: n1: purpose=gpu:NoSchedule; add it to its "
            "spec.tolerations");
}

// A node without a validator's verdict, for a minute and for an hour.
TEST_F(FindingsTest, Op1368_WaitingHasAnEnd) {
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

TEST_F(FindingsTest, AsText) {
  EXPECT_EQ(TextOf({Problem("A", "b", "c", "d"), Note("E", "f", "g", "h")}),
            "A  b: c; d\nE  f: g; h\n");
  EXPECT_EQ(LineOf(Problem("A", "b", "c\nd", "e")), "A  b: c d; e");
}

TEST_F(FindingsTest, AsJson) {
  const Json json = JsonOf(With({GpuPod("p", 9)}));
  EXPECT_EQ(TextAt(json["findings"][0], "code"), "MoreGpusThanAnyNode");
  EXPECT_EQ(TextAt(json["findings"][0], "severity"), "problem");
}

// Others may share the operator's namespace.
TEST(Operands, AreTheOperatorsOwn) {
  ClusterFacts cluster;
  cluster.operands = {{.space = "a", .name = "nvidia-driver-daemonset"}};
  cluster.operators = {{.object = "Deployment a/gpu-operator"}};
  const auto object = [](const char* kind, const char* owner_kind, const char* owner) {
    Json made = Json::parse(R"({"metadata": {"namespace": "a", "name": "x", "ownerReferences":
        [{"controller": true}]}})");
    made["kind"] = kind;
    made["metadata"]["ownerReferences"][0]["kind"] = owner_kind;
    made["metadata"]["ownerReferences"][0]["name"] = owner;
    return made;
  };
  const Json ours = object("Pod", "DaemonSet", "nvidia-driver-daemonset");
  const Json theirs = object("Pod", "DaemonSet", "cuda-test");
  EXPECT_TRUE(IsOperandPod(cluster, ours));
  EXPECT_FALSE(IsOperandPod(cluster, theirs));
  EXPECT_FALSE(IsOperandPod(cluster, object("Pod", "ReplicaSet", "nvidia-driver-daemonset")));
  EXPECT_FALSE(IsOperandPod(cluster, Json::parse(R"({"metadata": {"name": "x"}})")));
  EXPECT_TRUE(
      IsOperandPod(cluster, Json::parse(R"({"metadata": {"labels": {"app": "gpu-operator"}}})")));
  EXPECT_TRUE(IsOperandController(
      cluster,
      Json::parse(R"({"kind": "DaemonSet", "metadata": {"name": "nvidia-driver-daemonset"}})")));
  EXPECT_FALSE(IsOperandController(
      cluster, Json::parse(R"({"kind": "DaemonSet", "metadata": {"name": "cuda-test"}})")));
  EXPECT_TRUE(IsOperandController(cluster, object("ReplicaSet", "Deployment", "gpu-operator")));
  EXPECT_FALSE(IsOperandController(cluster, object("ReplicaSet", "Deployment", "cuda-test")));
  // Who may not see DaemonSets does not know whose they are.
  cluster.unread = {
      {.what = kDaemonSetsPart, .error = {.kind = ErrorKind::kDenied, .message = ""}}};
  EXPECT_TRUE(IsOperandPod(cluster, theirs));
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

TEST(UnreadySince, ItWasBegunOrIsDeleted) {
  Json pod = Json::parse(R"({"metadata": {"creationTimestamp": "1"}, "status": {
      "conditions": [{"type": "Ready", "status": "False"}],
      "containerStatuses": [{"state": {"running": {"startedAt": "2"}}}]}})");
  EXPECT_EQ(UnreadySince(pod), "2");
  pod["metadata"]["deletionTimestamp"] = "3";
  EXPECT_EQ(UnreadySince(pod), "3");
  pod["status"]["conditions"][0]["status"] = "True";
  EXPECT_EQ(UnreadySince(pod), "");
  EXPECT_EQ(UnreadySince(Json::parse(R"({"metadata": {"creationTimestamp": "1"}})")), "1");
}

// A node that was restarted starts its containers anew.
TEST(BegunAt, TheLastOfItsStarts) {
  EXPECT_EQ(BegunAt(Json::parse(R"({"metadata": {"creationTimestamp": "1"}})")), "1");
  EXPECT_EQ(BegunAt(Json::parse(R"({"metadata": {"creationTimestamp": "1"}, "status": {
      "initContainerStatuses": [{"state": {"running": {"startedAt": "3"}}}],
      "containerStatuses": [{"state": {"waiting": {}}}, {"state": {"running":
      {"startedAt": "2"}}}]}})")),
            "3");
}

TEST(LacksPods, ByKind) {
  EXPECT_TRUE(LacksPods(Json::parse(R"({"kind": "ReplicaSet", "spec": {"replicas": 2},
      "status": {"replicas": 1}})")));
  EXPECT_FALSE(LacksPods(Json::parse(R"({"kind": "ReplicaSet", "spec": {"replicas": 0}})")));
  EXPECT_TRUE(
      LacksPods(Json::parse(R"({"kind": "Job", "spec": {"completions": 1, "parallelism": 1}})")));
  EXPECT_FALSE(
      LacksPods(Json::parse(R"({"kind": "Job", "spec": {}, "status": {"succeeded": 1}})")));
  EXPECT_FALSE(LacksPods(Json::parse(R"({"kind": "Job", "spec": {"suspend": true}})")));
  EXPECT_FALSE(LacksPods(Json::parse(
      R"({"kind": "Job", "status": {"conditions": [{"type": "Failed", "status": "True"}]}})")));
  EXPECT_TRUE(
      LacksPods(Json::parse(R"({"kind": "DaemonSet", "status": {"desiredNumberScheduled": 2}})")));
  EXPECT_TRUE(LacksPods(Json::parse(R"({"kind": "PyTorchJob"})")));
}

// Of a Job with several pods one that has succeeded is not all of it.
TEST(HasSucceeded, AsItsConditionsOrItsCountsSay) {
  struct Case {
    const char* job;
    bool done;
  };
  for (const auto& [job, done] : std::initializer_list<Case>{
           {R"({"spec": {"completions": 4}, "status": {"succeeded": 1}})", false},
           {R"({"spec": {"completions": 4}, "status": {"succeeded": 4}})", true},
           {R"({"status": {"succeeded": 1}})", true},
           {R"({"status": {}})", false},
           {R"({"spec": {"completions": 4}, "status": {"succeeded": 1, "conditions": [
                {"type": "SuccessCriteriaMet", "status": "True"}]}})",
            true},
           {R"({"spec": {"completions": 4}, "status": {"conditions": [
                {"type": "Complete", "status": "True"}]}})",
            true},
           {R"({"spec": {"completions": 4}, "status": {"conditions": [
                {"type": "Complete", "status": "False"}]}})",
            false}}) {
    EXPECT_EQ(HasSucceeded(Json::parse(job)), done) << job;
  }
}

// Kubernetes' own conditions and states: a sandbox first, then each container.
TEST(IsStarting, WhatItsContainersSay) {
  struct Case {
    const char* status;
    bool starting;
  };
  for (const auto& [status, starting] : std::initializer_list<Case>{
           {R"({"phase": "Pending", "conditions": [
                {"type": "PodReadyToStartContainers", "status": "False"}]})",
            true},
           {R"({"phase": "Pending", "conditions": [
                {"type": "PodReadyToStartContainers", "status": "True"}]})",
            false},
           {R"({"phase": "Pending", "initContainerStatuses": [{"containerID": "containerd://1"}]})",
            false},
           {R"({"phase": "Pending", "containerStatuses": [{"state": {"waiting":
                {"reason": "CreateContainerError"}}}]})",
            true},
           {R"({"phase": "Running", "containerStatuses": [{"state": {"waiting":
                {"reason": "RunContainerError"}}}]})",
            true},
           {R"({"phase": "Running", "containerStatuses": [{"containerID": "containerd://1",
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"reason": "StartError"}}}]})",
            true},
           {R"({"phase": "Failed", "containerStatuses": [{"state": {"terminated":
                {"reason": "StartError"}}}]})",
            true},
           {R"({"phase": "Running", "containerStatuses": [{"state": {"running": {}},
                "lastState": {"terminated": {"reason": "StartError"}}}]})",
            false},
           {R"({"phase": "Running", "containerStatuses": [{"state": {"waiting":
                {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"reason": "Error"}}}]})",
            false}}) {
    EXPECT_EQ(IsStarting(Json{{"status", Json::parse(status)}}), starting) << status;
  }
}

TEST(IsStarting, UntilItRunsOrGoes) {
  EXPECT_TRUE(IsStarting(Json::parse(R"({"status": {"phase": "Pending"}})")));
  EXPECT_FALSE(IsStarting(Json::parse(R"({"status": {"phase": "Running"}})")));
  EXPECT_FALSE(IsStarting(Json::parse(
      R"({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Pending"}})")));
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
