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
using ::testing::IsEmpty;

using PodNodes = GpuClusterTest;

TEST_F(PodNodes, ASelectorThatTakesNoGpuNode) {
  Json pod = GpuPod("p", 1);
  pod["spec"]["nodeSelector"] = {{"nvidia.com/gpu.product", "Tesla-T5"}};
  EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, "NoNodeSelected")));
}

TEST_F(PodNodes, AffinityOfEachOperator) {
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
    EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, code))) << expression;
  }
}

// Another field than its name a node has not here; an empty term takes none.
TEST_F(PodNodes, AffinityToNodesByName) {
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
    EXPECT_THAT(With({pod}), ElementsAre(Field(&Finding::code, code))) << term;
  }
}

// Without a selector it makes a pod for each node, whatever that has.
TEST_F(PodNodes, ADaemonSetsPodOnANodeWithoutGpus) {
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

// One beside those that offer theirs.
TEST_F(PodNodes, APodThatANodeMayTakeYet) {
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

}  // namespace
}  // namespace gantry::doctor
