// SPDX-License-Identifier: Apache-2.0

#include "operator/driver_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

NodeFacts Node(Labels labels) {
  labels.emplace(names::kGpuPresent, "true");
  labels.emplace("nvidia.com/gpu.deploy.driver", "true");
  labels.emplace(names::kDriverOwner, "d");
  NodeFacts node;
  node.labels = PackLabels(labels);
  return node;
}

Labels System(const char* id, const char* version, const char* kernel) {
  return {
      {names::kSystemId, id}, {names::kSystemVersion, version}, {names::kKernelVersion, kernel}};
}

class Pools : public testing::Test {
 protected:
  DriverPools Split(const policy::DriverSelection& selection = {}) {
    driver_.tolerations = Json::array({{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}}});
    NamedNodes named;
    for (const auto& [name, facts] : nodes_) {
      named.emplace_back(name, &facts);
    }
    return SplitIntoPools("d", selection, driver_, owners_, named);
  }
  DriverOwners owners_{{{.name = "d", .every_node = true}}};
  policy::NvidiaDriver driver_;
  std::map<std::string, NodeFacts> nodes_;
};

TEST_F(Pools, NodesAreDividedBySystem) {
  nodes_["a"] = Node(System("ubuntu", "22.04", "5.15"));
  nodes_["b"] = Node(System("ubuntu", "22.04", "6.5"));
  nodes_["c"] = Node(System("rocky", "9.3", "5.14"));
  nodes_["e"] = Node(System("rocky", "9.4", "5.14"));
  const DriverPools split = Split({.nodes = {{"pool", "x"}}});
  ASSERT_THAT(split.pools, SizeIs(2));
  EXPECT_EQ(split.pools[0].system, (SystemFacts{"rocky", "rocky9", {}}));
  EXPECT_EQ(split.pools[0].nodes, Json::parse(R"({
      "nvidia.com/gpu.deploy.driver": "true", "nvidia.com/gpu.present": "true", "pool": "x",
      "nvidia.com/gpu-operator.driver.owner": "d",
      "feature.node.kubernetes.io/system-os_release.ID": "rocky",
      "feature.node.kubernetes.io/system-os_release.VERSION_ID.major": "9"})"));
  EXPECT_EQ(split.pools[1].system.tag, "ubuntu22.04");
  EXPECT_EQ(split.pools[1].nodes[names::kSystemVersion], "22.04");
  EXPECT_EQ(split.pools[1].labelled, 2);
}

TEST_F(Pools, MinorVersionsOfRhelAreOnePool) {
  nodes_["a"] = Node(System("rhel", "9.4", "5.14"));
  nodes_["b"] = Node(System("rhel", "9.7", "5.14"));
  const DriverPools split = Split();
  ASSERT_THAT(split.pools, SizeIs(1));
  EXPECT_EQ(split.pools[0].system.tag, "rhel9");
  EXPECT_EQ(split.pools[0].nodes[names::kSystemMajor], "9");
  EXPECT_FALSE(split.pools[0].nodes.contains(names::kSystemVersion));
  EXPECT_EQ(split.pools[0].labelled, 2);
}

TEST_F(Pools, PrecompiledDriversAreDividedByKernelToo) {
  driver_.options.precompiled = true;
  nodes_["a"] = Node(System("ubuntu", "22.04", "5.15"));
  nodes_["b"] = Node(System("ubuntu", "22.04", "6.5"));
  Labels without = System("ubuntu", "22.04", "");
  without.erase(names::kKernelVersion);
  nodes_["c"] = Node(without);
  const DriverPools split = Split();
  ASSERT_THAT(split.pools, SizeIs(2));
  EXPECT_EQ(split.pools[1].system.kernels, std::vector<std::string>{"6.5"});
  EXPECT_EQ(split.pools[1].nodes[names::kKernelVersion], "6.5");
  EXPECT_THAT(split.silent, ElementsAre("c"));
}

TEST_F(Pools, CountsTheNodesThatAreToHaveAPod) {
  const Labels system = System("ubuntu", "22.04", "6.5");
  nodes_["a"] = Node(system);
  nodes_["b"] = Node(system);
  nodes_["b"].taints = {{"other", "", "NoSchedule"}};
  Labels own = system;
  own["nvidia.com/gpu.deploy.driver"] = "pre-installed";
  nodes_["c"] = Node(own);
  const DriverPools split = Split();
  ASSERT_THAT(split.pools, SizeIs(1));
  EXPECT_EQ(split.pools[0].labelled, 2);
  EXPECT_EQ(split.pools[0].expected, 1);
}

TEST_F(Pools, HostManagersGoToNodesForVirtualGpus) {
  driver_.type = "vgpu-host-manager";
  Labels labels = System("ubuntu", "22.04", "6.5");
  labels["nvidia.com/gpu.deploy.vgpu-manager"] = "true";
  nodes_["a"] = Node(labels);
  const DriverPools split = Split();
  EXPECT_TRUE(split.pools[0].nodes.contains("nvidia.com/gpu.deploy.vgpu-manager"));
  EXPECT_FALSE(split.pools[0].nodes.contains("nvidia.com/gpu.deploy.driver"));
}

TEST_F(Pools, ANodeCountsOnceItsLabelSaysWhoseItIs) {
  const auto node = [](const char* owner) {
    Labels labels = System("ubuntu", "22.04", "6.5");
    labels[names::kDriverOwner] = owner;
    return Node(labels);
  };
  nodes_["a"] = node("d");
  nodes_["b"] = node("other");
  nodes_["c"] = node("");
  Labels without_gpu = System("ubuntu", "22.04", "6.5");
  without_gpu[names::kGpuPresent] = "false";
  nodes_["e"] = Node(without_gpu);
  EXPECT_THAT(Split().unmarked, ElementsAre("b", "c"));
  EXPECT_EQ(Split().pools.at(0).labelled, 1);
  // Its own no more: it leaves the pool before the label is written.
  owners_ = {{{.name = "d", .nodes = {"a"}}, {.name = "other", .is_default = true}}};
  nodes_["a"] = node("d");
  EXPECT_THAT(Split().unmarked, IsEmpty());
  owners_.claims[0].nodes.clear();
  EXPECT_THAT(Split().pools, IsEmpty());
}

TEST_F(Pools, InDoubtTheLabelDecides) {
  nodes_["a"] = Node(System("ubuntu", "22.04", "6.5"));
  Labels fresh = System("ubuntu", "22.04", "6.5");
  fresh[names::kDriverOwner] = "";
  nodes_["b"] = Node(fresh);
  owners_.claims.push_back({.name = "u", .known = false});
  EXPECT_EQ(Split().pools.at(0).labelled, 1);
  EXPECT_THAT(Split().unmarked, ElementsAre("b")) << "else it would look ready";
}

}  // namespace
}  // namespace gantry::gpu_operator
