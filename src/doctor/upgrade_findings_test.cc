// SPDX-License-Identifier: Apache-2.0
#include "doctor/upgrade_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/policy_facts.h"
#include "doctor/testing/gpu_node.h"

namespace gantry::doctor {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using UpgradeFindings = GpuNodeTest;

// What the operator says of an upgrade, in the policy's status.
TEST_F(UpgradeFindings, WhyADriverIsNotUpgradedYet) {
  const auto told = [&](const char* state, const char* reason, minutes deadline_in) {
    Write(node(), kUpgradeState, state, minutes(2));
    cluster_.policies = {PolicyFacts{}};
    cluster_.policies[0].upgrades = UpgradesFacts{};
    cluster_.policies[0].upgrades->nodes = {{.node = "n1",
                                             .state = state,
                                             .deadline = Rfc3339(cluster_.now + deadline_in),
                                             .reason = reason}};
    return CodeOf();
  };
  EXPECT_EQ(told("wait-for-jobs-required", "2 pods run", minutes(5)), "DriverUpgradeWaitsForPods");
  EXPECT_EQ(told("drain-required", "1 pods are still there", minutes(5)),
            "DriverUpgradeWaitsForPods");
  EXPECT_EQ(Examined()[0].severity, Severity::kNote);
  EXPECT_THAT(Examined()[0].message, HasSubstr("1 pods are still there"));
  EXPECT_EQ(
      told("pod-deletion-required", "x (would violate the pod's disruption budget)", minutes(5)),
      "DriverUpgradeHeldByBudget");
  EXPECT_EQ(told("validation-required", "the validator is not ready", minutes(5)), "");
  EXPECT_EQ(told("validation-required", "the validator is not ready", minutes(0)), "");
  EXPECT_EQ(told("validation-required", "the validator is not ready", minutes(-2)),
            "DriverUpgradeOverdue");
  EXPECT_EQ(told("upgrade-failed", "more than 10 restarts", minutes(-2)), "DriverUpgradeFailed");
  EXPECT_THAT(Examined()[0].message, HasSubstr("more than 10 restarts"));
  // Older than an hour, and time alone ends it.
  told("wait-for-jobs-required", "2 pods run", minutes(600));
  Write(node(), kUpgradeState, "wait-for-jobs-required", minutes(61));
  EXPECT_EQ(CodeOf(), "DriverUpgradeWaitsForPods");
  // Who waits for its turn meanwhile is no trouble either.
  NodeFacts other = node();
  other.name = "n2";
  Write(other, kUpgradeState, "upgrade-required", minutes(61));
  cluster_.nodes.push_back(other);
  EXPECT_EQ(CodeOf(), "DriverUpgradeWaitsForPods");
  cluster_.nodes.pop_back();
  // A wait without an end, and words about another state than that of now.
  Write(node(), kUpgradeState, "drain-required", minutes(61));
  EXPECT_EQ(CodeOf(), "DriverUpgradeStuck");
  Write(node(), kUpgradeState, "drain-required", minutes(2));
  EXPECT_EQ(CodeOf(), "");
}

TEST_F(UpgradeFindings, ANodeThatAnUpgradeLeftCordoned) {
  node().cordoned = true;
  EXPECT_EQ(CodeOf(), "");
  node().upgrade_cordon = true;
  EXPECT_EQ(CodeOf(), "NodeLeftCordoned");
  Write(node(), kUpgradeState, "upgrade-done", minutes(1));
  EXPECT_EQ(CodeOf(), "NodeLeftCordoned");
  Write(node(), kUpgradeState, "pod-restart-required", minutes(1));
  EXPECT_EQ(CodeOf(), "");
  Write(node(), kUpgradeState, "", minutes(1));
  node().cordoned = false;
  EXPECT_EQ(CodeOf(), "");
}

TEST_F(UpgradeFindings, ADriverThatIsUpgraded) {
  node().capacity = {};
  node().allocatable = {};
  for (const char* state :
       {"cordon-required", "wait-for-jobs-required", "pod-deletion-required", "drain-required",
        "pod-restart-required", "validation-required", "uncordon-required"}) {
    Write(node(), kUpgradeState, state, minutes(59));
    EXPECT_THAT(Examined(), IsEmpty()) << state;
    EXPECT_EQ(StageName(node(), Stage()), std::string("driver ") + state);
    Write(node(), kUpgradeState, state, minutes(61));
    EXPECT_EQ(CodeOf(), "DriverUpgradeStuck") << state;
  }
  Write(node(), kUpgradeState, "upgrade-failed", minutes(0));
  EXPECT_EQ(CodeOf(), "DriverUpgradeFailed");
  // It is done; present problems are reported.
  Write(node(), kUpgradeState, "upgrade-done", minutes(600));
  EXPECT_EQ(CodeOf(), "NoGpuAllocatable");
}

TEST_F(UpgradeFindings, ADriverThatWaitsForItsTurn) {
  Write(node(), kUpgradeState, "upgrade-required", minutes(59));
  EXPECT_THAT(Examined(), IsEmpty());
  Write(node(), kUpgradeState, "upgrade-required", minutes(61));
  EXPECT_EQ(CodeOf(), "DriverUpgradeStuck");
  NodeFacts other = node();
  other.name = "n2";
  Write(other, kUpgradeState, "drain-required", minutes(10));
  cluster_.nodes.push_back(other);
  EXPECT_THAT(Examined(), IsEmpty());
  // The other one is stuck itself.
  Write(cluster_.nodes[1], kUpgradeState, "drain-required", minutes(61));
  EXPECT_THAT(Examined(), ElementsAre(Field(&Finding::code, "DriverUpgradeStuck"),
                                      Field(&Finding::code, "DriverUpgradeStuck")));
}

TEST_F(UpgradeFindings, ADriverThatIsNotToBeUpgraded) {
  node().labels["nvidia.com/gpu-driver-upgrade.skip"] = "true";
  Write(node(), kUpgradeState, "upgrade-required", minutes(61));
  EXPECT_THAT(Examined(), IsEmpty());
  // Its turn had come before.
  Write(node(), kUpgradeState, "drain-required", minutes(61));
  EXPECT_EQ(CodeOf(), "DriverUpgradeStuck");
  node().labels["nvidia.com/gpu-driver-upgrade.skip"] = "false";
  Write(node(), kUpgradeState, "upgrade-required", minutes(61));
  EXPECT_EQ(CodeOf(), "DriverUpgradeStuck");
}

}  // namespace
}  // namespace gantry::doctor
