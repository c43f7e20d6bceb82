// SPDX-License-Identifier: Apache-2.0
#include "operator/doctor/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json Parse(const char* text) { return *ParseJson(text); }

// A GPU node as an API server would show it.
Json GpuNode(const std::string& name, long long gpus) {
  Json node = Parse(R"({"metadata": {"labels": {"nvidia.com/gpu.present": "true",
      "nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/cuda.driver-version.full": "535.1"}},
      "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})");
  node["metadata"]["name"] = name;
  node["status"]["capacity"] = {{"cpu", "8"}, {"nvidia.com/gpu", std::to_string(gpus)}};
  node["status"]["allocatable"] = node["status"]["capacity"];
  return node;
}

Json GpuPod(const std::string& name, int gpus) {
  Json pod = Parse(R"({"metadata": {"namespace": "default"}, "spec": {"tolerations": [
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
  cluster.operators = {OperatorFrom(
      Parse(R"({"kind": "Deployment", "metadata": {"namespace": "a", "name": "gpu-operator"}})"))};
  EXPECT_EQ(OperatorSpace(cluster), "a");
  cluster.operands = {{.space = "b", .name = "nvidia-device-plugin-daemonset"}};
  EXPECT_EQ(OperatorSpace(cluster), "b");
  cluster.own_space = "c";
  EXPECT_EQ(OperatorSpace(cluster), "c");
  // One that the operator has not looked at, and one of the short form.
  cluster.policies = {PolicyFrom(Parse("{}")),
                      PolicyFrom(Parse(R"({"status": {"namespace": "d"}})"))};
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

TEST_F(FindingsTest, TolerationsOfEachForm) {
  node_["spec"]["taints"] = Json::array({Taint("nvidia.com/gpu", "present")});
  for (const char* toleration :
       {R"({"operator": "Exists"})", R"({"key": "nvidia.com/gpu", "operator": "Exists"})",
        R"({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"})"}) {
    Json pod = GpuPod("p", 1);
    pod["spec"]["tolerations"] = Json::array({Parse(toleration)});
    cluster_.pending.clear();
    EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, "GpusInUse"))) << toleration;
  }
  for (const char* toleration :
       {R"({"key": "nvidia.com/gpu", "value": "absent"})",
        R"({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"})",
        R"({"key": "other", "operator": "Exists"})"}) {
    Json pod = GpuPod("p", 1);
    pod["spec"]["tolerations"] = Json::array({Parse(toleration)});
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
  cluster_.operators = {OperatorFrom(Parse(R"({"spec": {"template": {"spec": {"containers": [
      {"env": [{"name": "STARTUP_TAINT", "value": "gpus.example.com/starting"}]}]}}},
      "status": {"availableReplicas": 1}})"))};
  for (const char* key :
       {"gpus.example.com/starting", "node.cilium.io/agent-not-ready",
        "startup-taint.cluster-autoscaler.kubernetes.io/gpu", "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted", "karpenter.sh/unregistered"}) {
    node_["spec"]["taints"] = Json::array({Taint(key, "")});
    cluster_.pending.clear();
    EXPECT_THAT(With({GpuPod("p", 1)}),
                ElementsAre(AllOf(Field(&Finding::code, "NodesUnschedulable"),
                                  Field(&Finding::severity, Severity::kNote))))
        << key;
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

TEST_F(FindingsTest, AResourceThatNobodyOffers) {
  Json pod = GpuPod("p", 1);
  pod["spec"]["containers"][0]["resources"]["limits"] = {{"nvidia.com/mig-1g.5gb", 1}};
  const auto findings = With({pod});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "ResourceNotOffered");
  EXPECT_THAT(findings[0].message, HasSubstr("offered: nvidia.com/gpu"));
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
       ["nodeSelectorTerms"] = {{{"matchExpressions", {Parse(expression)}}}};
    cluster_.pending.clear();
    EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, code))) << expression;
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
    EXPECT_EQ(IsKnownRefusal(cluster_.refusals[0]), code != nullptr) << message;
    if (code == nullptr) {
      EXPECT_THAT(With({}), IsEmpty()) << message;
    } else {
      EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, code))) << message;
    }
  }
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

TEST_F(FindingsTest, AnOperatorThatDoesNotRun) {
  cluster_.operators = {{.object = "Deployment a/gpu-operator", .wanted = 1, .available = 0}};
  EXPECT_THAT(With({}), ElementsAre(AllOf(Field(&Finding::code, "OperatorNotRunning"),
                                          Field(&Finding::object, "Deployment a/gpu-operator"))));
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
           {"0/2 nodes are available: 1 Too many pods, 1 Insufficient nvidia.com/gpu.",
            "GpusInUse"}}) {
    Json pod = GpuPod("p", 1);
    pod["status"]["conditions"][0]["message"] = message;
    cluster_.nodes = {NodeFrom(node_), NodeFrom(Parse(R"({"metadata": {"name": "cpu1"}})"))};
    cluster_.pending = {PodFrom(pod)};
    EXPECT_THAT(Examine(cluster_), ElementsAre(Field(&Finding::code, code))) << message;
  }
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
}

TEST_F(FindingsTest, ANodeThatIsNotReady) {
  node_["status"]["conditions"][0]["status"] = "Unknown";
  EXPECT_THAT(With({}), ElementsAre(Field(&Finding::code, "NodeNotReady")));
}

TEST_F(FindingsTest, OperandsAndPolicies) {
  cluster_.operands = {OperandFrom(Parse(R"({"metadata": {"name": "nvidia-device-plugin-daemonset",
      "labels": {"app.kubernetes.io/managed-by": "gpu-operator"}},
      "status": {"desiredNumberScheduled": 2, "numberReady": 1, "updatedNumberScheduled": 2}})"))
                           .value()};
  cluster_.policies = {PolicyFrom(
      Parse(R"({"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "status": {
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

TEST_F(FindingsTest, ADriverThatGetsNoNodes) {
  cluster_.drivers = {
      PolicyFrom(Parse(R"({"kind": "NVIDIADriver", "metadata": {"name": "d"}, "status": {
      "state": "notReady", "conditions": [{"type": "Error", "status": "True",
      "reason": "ConflictingNodeSelector", "message": "multiple NVIDIADrivers"}]}})")),
      PolicyFrom(Parse(R"({"metadata": {"name": "off"}, "status": {
      "state": "disabled"}})"))};
  EXPECT_THAT(With({}),
              ElementsAre(AllOf(Field(&Finding::code, "DriverNotReady"),
                                Field(&Finding::object, "NVIDIADriver d"),
                                Field(&Finding::message, HasSubstr("ConflictingNodeSelector")))));
}

TEST_F(FindingsTest, ATaintThatNoOperandTolerates) {
  cluster_.policies = {PolicyFrom(
      Parse(R"({"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "status": {
      "state": "ready", "conditions": [
      {"type": "NodesReachable", "status": "False", "reason": "TaintNotTolerated",
       "message": "no operand runs on these GPU nodes: n1: a=b:NoSchedule"},
      {"type": "Error", "status": "False", "reason": "Ready"}]}})"))};
  EXPECT_THAT(With({}), ElementsAre(AllOf(Field(&Finding::code, "TaintNotTolerated"),
                                          Field(&Finding::message, HasSubstr("n1: a=b")))));
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

TEST(LacksPods, ByKind) {
  EXPECT_TRUE(LacksPods(Parse(R"({"kind": "ReplicaSet", "spec": {"replicas": 2},
      "status": {"replicas": 1}})")));
  EXPECT_FALSE(LacksPods(Parse(R"({"kind": "ReplicaSet", "spec": {"replicas": 0}})")));
  EXPECT_TRUE(LacksPods(Parse(R"({"kind": "Job", "spec": {"completions": 1, "parallelism": 1}})")));
  EXPECT_FALSE(LacksPods(Parse(R"({"kind": "Job", "spec": {}, "status": {"succeeded": 1}})")));
  EXPECT_TRUE(
      LacksPods(Parse(R"({"kind": "DaemonSet", "status": {"desiredNumberScheduled": 2}})")));
  EXPECT_TRUE(LacksPods(Parse(R"({"kind": "PyTorchJob"})")));
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
    EXPECT_EQ(IsStarting(Json{{"status", Parse(status)}}), starting) << status;
  }
}

TEST(IsStarting, UntilItRunsOrGoes) {
  EXPECT_TRUE(IsStarting(Parse(R"({"status": {"phase": "Pending"}})")));
  EXPECT_FALSE(IsStarting(Parse(R"({"status": {"phase": "Running"}})")));
  EXPECT_FALSE(IsStarting(Parse(
      R"({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Pending"}})")));
}

TEST(LastSeen, OfEachKindOfEvent) {
  EXPECT_EQ(LastSeen(Parse(R"({"series": {"lastObservedTime": "3"}, "eventTime": "1"})")), "3");
  EXPECT_EQ(LastSeen(Parse(R"({"lastTimestamp": "2", "eventTime": null})")), "2");
  EXPECT_EQ(LastSeen(Parse(R"({"lastTimestamp": null, "eventTime": "1"})")), "1");
  EXPECT_EQ(LastSeen(Parse(R"({"metadata": {"creationTimestamp": "0"}})")), "0");
}

}  // namespace
}  // namespace gantry::doctor
