// SPDX-License-Identifier: Apache-2.0
#include "doctor/controller_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::doctor {
namespace {

// Others may share the operator's namespace.
TEST(Operands, AreTheOperatorsOwn) {
  ClusterFacts cluster;
  cluster.operands = {{.ns = "a", .name = "nvidia-driver-daemonset"}};
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

}  // namespace
}  // namespace gantry::doctor
