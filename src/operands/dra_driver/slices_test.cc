// SPDX-License-Identifier: Apache-2.0
#include "operands/dra_driver/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operands/dra_driver/testing/node.h"

namespace gantry::dra_driver {
namespace {

const SliceOwner kOwner{.node = "node", .node_uid = "uid"};

std::vector<Device> Some(size_t count) {
  std::vector<Device> devices;
  for (size_t at = 0; at < count; ++at) {
    devices.push_back({.name = "gpu-" + std::to_string(at),
                       .uuid = "",
                       .published = {{"name", "gpu-" + std::to_string(at)}}});
  }
  return devices;
}

// As the API server has them after the plan, under names in their order.
std::vector<Json> After(const SlicePlan& plan) {
  std::vector<Json> stored = plan.replaced;
  for (Json slice : plan.created) {
    slice["metadata"]["name"] = slice["metadata"]["generateName"].get<std::string>() + "x";
    stored.push_back(slice);
  }
  return stored;
}

TEST(DraSlices, ANewNodeGetsOneSlice) {
  const SlicePlan plan = PlanSlices(kOwner, Some(2), {});
  ASSERT_EQ(plan.created.size(), 1);
  EXPECT_EQ(plan.created[0], *ParseJson(R"({
    "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
    "metadata": {"generateName": "00000-gpu.nvidia.com-node-",
                 "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "node",
                                      "uid": "uid", "controller": true}]},
    "spec": {"driver": "gpu.nvidia.com", "nodeName": "node",
             "pool": {"name": "node", "generation": 1, "resourceSliceCount": 1},
             "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}]}})"));
}

TEST(DraSlices, WithoutDevicesASliceSaysThatTheDriverRuns) {
  const SlicePlan plan = PlanSlices(kOwner, {}, {});
  ASSERT_EQ(plan.created.size(), 1);
  EXPECT_FALSE(plan.created[0].at("spec").contains("devices"));
}

TEST(DraSlices, NothingChangedNothingWritten) {
  for (const size_t count : {0U, 2U, 128U, 129U, 300U}) {
    EXPECT_TRUE(PlanSlices(kOwner, Some(count), After(PlanSlices(kOwner, Some(count), {}))).empty())
        << count;
  }
}

TEST(DraSlices, AChangeKeepsTheGeneration) {
  std::vector<Json> stored = After(PlanSlices(kOwner, Some(2), {}));
  stored[0]["metadata"]["resourceVersion"] = "7";
  stored[0]["spec"]["pool"]["generation"] = 4;
  const SlicePlan plan = PlanSlices(kOwner, Some(3), stored);
  EXPECT_TRUE(plan.created.empty() && plan.obsolete.empty());
  ASSERT_EQ(plan.replaced.size(), 1);
  EXPECT_EQ(plan.replaced[0].at("metadata"), stored[0].at("metadata"));
  EXPECT_EQ(plan.replaced[0]["spec"]["pool"]["generation"], 4);
  EXPECT_EQ(plan.replaced[0]["spec"]["devices"].size(), 3);
}

TEST(DraSlices, AnotherNumberOfSlicesRaisesTheGenerationOfAll) {
  const std::vector<Json> one = After(PlanSlices(kOwner, Some(128), {}));
  const SlicePlan more = PlanSlices(kOwner, Some(129), one);
  ASSERT_EQ(more.replaced.size(), 1);
  ASSERT_EQ(more.created.size(), 1);
  EXPECT_EQ(more.replaced[0]["spec"]["pool"],
            *ParseJson(R"({"name": "node", "generation": 2, "resourceSliceCount": 2})"));
  EXPECT_EQ(more.created[0]["spec"]["pool"], more.replaced[0]["spec"]["pool"]);
  EXPECT_EQ(more.created[0]["metadata"]["generateName"], "00001-gpu.nvidia.com-node-");
  EXPECT_EQ(more.created[0]["spec"]["devices"][0]["name"], "gpu-128");
  const SlicePlan fewer = PlanSlices(kOwner, Some(1), After(more));
  ASSERT_EQ(fewer.obsolete.size(), 1);
  EXPECT_EQ(fewer.obsolete[0]["metadata"]["name"], "00001-gpu.nvidia.com-node-x");
  EXPECT_EQ(fewer.replaced[0]["spec"]["pool"]["generation"], 3);
}

TEST(DraSlices, AStrangeSliceIsReplaced) {
  std::vector<Json> stored = {{{"metadata", {{"name", "a"}}}}};
  EXPECT_EQ(PlanSlices(kOwner, Some(1), stored).replaced.size(), 1);
}

}  // namespace
}  // namespace gantry::dra_driver
