// SPDX-License-Identifier: Apache-2.0
#include "doctor/node_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/policy_facts.h"
#include "doctor/testing/gpu_node.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

using std::chrono::minutes;

using NodeStages = GpuNodeTest;

// Without a verdict labels are not missed yet either.
TEST_F(NodeStages, ANodeThatWasJustTakenIn) {
  node().labels.erase("nvidia.com/gpu.validation");
  node().labels.erase("nvidia.com/gpu.product");
  EXPECT_EQ(CodeOf(), "");
  EXPECT_TRUE(Stage().unfinished);
  EXPECT_FALSE(Stage().may_offer);
  node().capacity = {};
  EXPECT_TRUE(Stage().may_offer);
  node().labels["nvidia.com/gpu.validation"] = "ready";
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
  EXPECT_FALSE(Stage().unfinished);
  EXPECT_FALSE(Stage().may_offer);
  Write(node(), kMigState, "pending", minutes(1));
  EXPECT_TRUE(Stage().may_offer);
}

// Is it the node's own doing that a pod on it is not ready?
TEST_F(NodeStages, NodesThatAreNotSettled) {
  struct Case {
    const char* what;
    void (*change)(NodeFacts& node);
    bool unsettled;
  };
  const NodeFacts well = node();
  for (const auto& [what, change, unsettled] : std::initializer_list<Case>{
           {"all is well", [](NodeFacts& /*node*/) {}, false},
           {"not validated",
            [](NodeFacts& node) { node.labels.erase("nvidia.com/gpu.validation"); }, false},
           {"not ready", [](NodeFacts& node) { node.ready = false; }, true},
           {"found wanting",
            [](NodeFacts& node) { node.labels["nvidia.com/gpu.validation"] = "DriverMissing"; },
            true},
           {"MIG", [](NodeFacts& node) { node.labels[kMigState] = "pending"; }, true},
           {"upgrade", [](NodeFacts& node) { node.labels[kUpgradeState] = "drain-required"; },
            true},
           {"waits for its turn",
            [](NodeFacts& node) { node.labels[kUpgradeState] = "upgrade-required"; }, false}}) {
    node() = well;
    change(node());
    EXPECT_EQ(Stage().unsettled, unsettled) << what;
  }
  node() = well;
  node().made_at = Rfc3339(cluster_.now - minutes(2));
  EXPECT_TRUE(Stage().unsettled);
  node().made_at = Rfc3339(cluster_.now - minutes(4));
  EXPECT_FALSE(Stage().unsettled);
}

// NVIDIA's validator says nothing on the node.
TEST_F(NodeStages, AStageThatNobodyTellsIsNotWaitedFor) {
  const auto validator = [&](const char* env) {
    Json set = *ParseJson(R"({"metadata": {"name": "nvidia-operator-validator", "labels": {}},
        "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}})");
    set["metadata"]["labels"][names::kManagedBy] = names::kManagedByGantry;
    set["spec"]["template"]["spec"]["containers"][0]["env"] = *ParseJson(env);
    cluster_.operands = {OperandFrom(set).value()};
  };
  node().labels.erase("nvidia.com/gpu.validation");
  validator(R"([{"name": "PUBLISH", "value": "true"}])");
  EXPECT_EQ(StageName(node(), Stage()), "validation");
  validator("[]");
  EXPECT_EQ(StageName(node(), Stage()), "ready");
  // Switched off, on the node or in the policy.
  validator(R"([{"name": "PUBLISH", "value": "true"}])");
  node().labels["nvidia.com/gpu.deploy.operator-validator"] = "false";
  EXPECT_EQ(StageName(node(), Stage()), "ready");
  node().capacity = {};
  node().allocatable = {};
  cluster_.policies = {PolicyFrom(*ParseJson(R"({"spec": {"devicePlugin": {"enabled": false}}})"))};
  EXPECT_EQ(StageName(node(), Stage()), "ready");
  // Nothing was put on it yet.
  node().labels = {{"nvidia.com/gpu.present", "true"}};
  EXPECT_EQ(StageName(node(), Stage()), "driver");
}

TEST_F(NodeStages, StagesOfANodeForVirtualMachines) {
  for (const char* plugin : {"sandbox-device-plugin", "kata-sandbox-device-plugin"}) {
    node().labels = {{"nvidia.com/gpu.present", "true"},
                     {"nvidia.com/gpu.deploy.sandbox-validator", "true"},
                     {std::string("nvidia.com/gpu.deploy.") + plugin, "true"}};
    node().capacity = {};
    node().allocatable = {};
    EXPECT_EQ(StageName(node(), Stage()), "device plugin");
    node().capacity = {{"nvidia.com/GA102GL_A10", 2}};
    node().allocatable = node().capacity;
    EXPECT_EQ(StageName(node(), Stage()), "ready");
    for (const int left : {0, 1}) {
      node().allocatable = {{"nvidia.com/GA102GL_A10", left}};
      EXPECT_EQ(StageName(node(), Stage()), "GPUs unhealthy") << left;
    }
  }
}

}  // namespace
}  // namespace gantry::doctor
