// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "operator/desired/operands.h"
#include "operator/driver_parts_for_tests.h"
#include "operator/verdict.h"

namespace gantry::gpu_operator {

// A cluster of two GPU nodes on which everything works; tests break one thing.
class VerdictTest : public testing::Test {
 protected:
  VerdictTest() {
    Use(Json::object());
    cluster_.nodes = cluster_.gpu_nodes = cluster_.described = 2;
    for (const char* deploy :
         {"container-toolkit", "operator-validator", "device-plugin", "gpu-feature-discovery"}) {
      cluster_.labelled[deploy] = cluster_.expected[deploy] = 2;
    }
  }

  void Use(const Json& spec, bool node_features = true) {
    auto policy = policy::Parse({{"spec", spec}});
    CHECK(policy.has_value());
    Context context;
    context.policy = *policy;
    context.ns = "ns";
    context.release.image = "i:1";
    context.owners = Json::array({{{"kind", "ClusterPolicy"}}});
    DivideOn(system_, context);
    operands_ = DesiredOperands(context, node_features);
    sets_.clear();
    for (const DesiredOperand& operand : operands_) {
      if (!operand.objects.empty() && !operand.operand->daemon_set.empty()) {
        sets_[std::string(operand.operand->daemon_set)] = {1, 1, 2, 2, 2, 0, false};
      }
    }
    input_.node_features_ours = node_features;
  }

  VerdictInput& Input() {
    input_.operands = &operands_;
    input_.daemon_sets = &sets_;
    input_.cluster = &cluster_;
    input_.ns = "ns";
    return input_;
  }
  Verdict Now() { return Judge(Input()); }
  OperandState StateOf(std::string_view name) {
    for (const OperandState& state : Now().operands) {
      if (state.name == name) {
        return state;
      }
    }
    return {};
  }
  DaemonSetFacts& Plugin() { return sets_["nvidia-device-plugin-daemonset"]; }
  void ExpectNotReady(std::string_view reason, std::string_view message) {
    const Verdict verdict = Now();
    EXPECT_EQ(verdict.state, "notReady");
    EXPECT_EQ(verdict.reason, "OperandNotReady");
    EXPECT_THAT(verdict.message, testing::HasSubstr("states not ready: [state-device-plugin]"));
    EXPECT_EQ(StateOf("state-device-plugin").reason, reason);
    EXPECT_THAT(StateOf("state-device-plugin").message, testing::HasSubstr(message));
  }

  std::vector<DesiredOperand> operands_;
  std::map<std::string, DaemonSetFacts> sets_;
  ClusterFacts cluster_;
  SystemFacts system_;
  VerdictInput input_;
};

}  // namespace gantry::gpu_operator
