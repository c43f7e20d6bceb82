// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/driver_division.h"
#include "operator/node_labels_for_tests.h"
#include "operator/strip.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;

// op#433: drivers are divided by what each node runs.
TEST(DriverSystem, StandsOnANodeThatIsToHaveADriver) {
  LabelledNode node(
      {{kPciLabel, "true"}, {names::kSystemId, "ubuntu"}, {names::kSystemVersion, "22.04"}});
  EXPECT_THAT(node.Round(), Not(Contains(Key(names::kDriverSystem)))) << "drivers are the hosts'";
  node.rules.driver_systems = true;
  EXPECT_EQ(node.Round()[names::kDriverSystem], "ubuntu22.04");
  // Its DaemonSet selects by it, so that silence takes nothing away.
  node.Set(names::kSystemVersion, nullptr);
  EXPECT_EQ(node.Round()[names::kDriverSystem], "ubuntu22.04");
  node.Set(names::kSystemVersion, "24.04");
  EXPECT_EQ(node.Round()[names::kDriverSystem], "ubuntu24.04");
  node.Set(names::kDeployOperands, "false");
  EXPECT_THAT(node.Round(), Not(Contains(Key(names::kDriverSystem))));
  node.Set(names::kDeployOperands, nullptr);
  node.rules.sandbox = true;
  node.Set(names::kWorkloadConfig, "vm-passthrough");
  EXPECT_THAT(node.Round(), Not(Contains(Key(names::kDriverSystem))));
  node.Set(names::kWorkloadConfig, "vm-vgpu");
  EXPECT_EQ(node.Round()[names::kDriverSystem], "ubuntu24.04");
  EXPECT_TRUE(StripNode(node.node(), "")["metadata"]["labels"].contains(names::kDriverSystem));
  node.Set(kPciLabel, nullptr);
  EXPECT_THAT(node.Round(), Not(Contains(Key(names::kDriverSystem))));
}

TEST(DriverSystem, ADaemonSetForAnotherSystemIsLetLooseOnNoNode) {
  LabelledNode node(
      {{kPciLabel, "true"}, {names::kSystemId, "ubuntu"}, {names::kSystemVersion, "24.04"}});
  node.rules.driver_systems = true;
  node.rules.open_drivers = {{.system = "ubuntu22.04", .nodes = {}}};
  Labels labels = node.Round();
  EXPECT_THAT(labels, Not(Contains(Key("nvidia.com/gpu.deploy.driver"))));
  EXPECT_EQ(labels["nvidia.com/gpu.deploy.device-plugin"], "true");
  node.rules.open_drivers.clear();
  EXPECT_EQ(node.Round()["nvidia.com/gpu.deploy.driver"], "true");
  node.rules.open_drivers = {{.system = "ubuntu22.04", .nodes = {}}};
  EXPECT_EQ(node.Round()["nvidia.com/gpu.deploy.driver"], "true") << "what it has it keeps";
  LabelledNode other(
      {{kPciLabel, "true"}, {names::kSystemId, "ubuntu"}, {names::kSystemVersion, "22.04"}});
  other.rules = node.rules;
  EXPECT_EQ(other.Round()["nvidia.com/gpu.deploy.driver"], "true");
}

TEST(DriverSystem, IsAskedForByAPolicyWithADriver) {
  const Json image = {{"repository", "r"}, {"image", "i"}, {"version", "1"}};
  const auto asked = [](const Json& spec) {
    return RulesOf(*policy::Parse({{"spec", spec}}), false).driver_systems;
  };
  EXPECT_TRUE(asked({{"driver", image}}));
  EXPECT_FALSE(asked(Json::object()));
  Json off = image;
  off["enabled"] = false;
  EXPECT_FALSE(asked({{"driver", off}}));
  Json on = image;
  on["enabled"] = true;
  EXPECT_TRUE(
      asked({{"driver", off}, {"vgpuManager", on}, {"sandboxWorkloads", {{"enabled", true}}}}));
}

}  // namespace
}  // namespace gantry::gpu_operator
