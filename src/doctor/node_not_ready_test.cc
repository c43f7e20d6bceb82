// SPDX-License-Identifier: Apache-2.0
#include "doctor/node_not_ready.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/testing/gpu_node.h"

namespace gantry::doctor {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

using NodeNotReady = GpuNodeTest;

TEST_F(NodeNotReady, ANodeThatIsNotReady) {
  node().ready = false;
  struct Case {
    const char* words;
    const char* code;
  };
  for (const auto& [words, code] : std::initializer_list<Case>{
           {"container runtime is down", "RuntimeDown"},
           {"[container runtime not ready: RuntimeReady=false]", "RuntimeDown"},
           {"PLEG is not healthy: pleg was last seen active 5m ago", "RuntimeDown"},
           {"[container runtime status check may not have completed yet]", "RuntimeDown"},
           {"container runtime network not ready: NetworkReady=false "
            "reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not "
            "initialized",
            "NodeNotReady"},
           {"Kubelet stopped posting node status.", "NodeNotReady"},
           {"", "NodeNotReady"}}) {
    node().why_not_ready = words;
    EXPECT_EQ(CodeOf(), code) << words;
  }
  EXPECT_EQ(StageName(node(), Stage()), "node not ready");
}

// A node that comes or goes is no trouble; one whose runtime is down is.
TEST_F(NodeNotReady, ANodeThatIsNotReadyForAWhile) {
  const auto severity = [this] {
    const std::vector<Finding> findings = Examined();
    EXPECT_THAT(findings, ElementsAre(Field(&Finding::code, "NodeNotReady")));
    return findings.at(0).severity;
  };
  const Taint passing = {.key = "node.cilium.io/agent-not-ready", .value = "", .effect = ""};
  node().ready = false;
  node().why_not_ready = "Kubelet never posted node status.";
  node().made_at = Rfc3339(cluster_.now - minutes(2));
  EXPECT_EQ(severity(), Severity::kNote);
  EXPECT_THAT(Examined()[0].remedy, HasSubstr("it is starting"));
  node().made_at = Rfc3339(cluster_.now - minutes(14));
  EXPECT_EQ(severity(), Severity::kProblem);
  node().taints = {passing};
  EXPECT_EQ(severity(), Severity::kNote);
  node().why_not_ready = "Kubelet stopped posting node status.";
  EXPECT_EQ(severity(), Severity::kProblem);
  node().why_not_ready = "container runtime network not ready: cni plugin not initialized";
  EXPECT_EQ(severity(), Severity::kNote);
  // An agent that never comes.
  node().made_at = Rfc3339(cluster_.now - minutes(16));
  EXPECT_EQ(severity(), Severity::kProblem);
  node().leaving = true;
  EXPECT_EQ(severity(), Severity::kNote);
  EXPECT_THAT(Examined()[0].remedy, HasSubstr("being removed"));
  node().why_not_ready = "container runtime is down";
  EXPECT_EQ(CodeOf(), "RuntimeDown");
  EXPECT_EQ(Examined()[0].severity, Severity::kProblem);
}

}  // namespace
}  // namespace gantry::doctor
