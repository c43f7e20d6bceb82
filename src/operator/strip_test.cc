// SPDX-License-Identifier: Apache-2.0
#include "operator/strip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/node_labels_for_tests.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

TEST(StripNode, TakesTheMigManagersDefaultAndNobodysWish) {
  const auto strip = [](const char* config) {
    return StripNode({{"metadata", {{"labels", {{"nvidia.com/mig.config", config}}}}}});
  };
  EXPECT_TRUE(strip("all-disabled")["metadata"]["labels"]["nvidia.com/mig.config"].is_null());
  EXPECT_EQ(strip("all-disabled")["metadata"]["labels"].size(), 1U);
  EXPECT_TRUE(strip("all-balanced").is_null());
}

// cozystack PR2767: the mark outlives the driver that it tells of.
TEST(StripNode, TakesTheDriverManagersMark) {
  const auto strip = [](const char* driver) {
    return StripNode({{"metadata", {{"labels", {{"nvidia.com/gpu.deploy.driver", driver}}}}}});
  };
  EXPECT_TRUE(
      strip("pre-installed")["metadata"]["labels"]["nvidia.com/gpu.deploy.driver"].is_null());
  EXPECT_EQ(strip("pre-installed")["metadata"]["labels"].size(), 1U);
  EXPECT_TRUE(strip("false").is_null());
}

TEST(StripNode, TakesTheDriversOwner) {
  const Json patch = StripNode(
      {{"metadata", {{"labels", {{"nvidia.com/gpu-operator.driver.owner", "d"}, {"a", "b"}}}}}});
  EXPECT_EQ(patch, Json::parse(R"({"metadata": {"labels": {
      "nvidia.com/gpu-operator.driver.owner": null}}})"));
}

TEST(StripNode, EndsAnUpgrade) {
  Json node = Json::parse(R"({"metadata": {
      "labels": {"nvidia.com/gpu-driver-upgrade-state": "drain-required"},
      "annotations": {"nvidia.com/gpu-operator.driver-upgrade-cordon": "true",
                      "nvidia.com/gpu-driver-upgrade-enabled": "true"}},
      "spec": {"unschedulable": true}})");
  EXPECT_EQ(StripNode(node), Json::parse(R"({"metadata": {
      "labels": {"nvidia.com/gpu-driver-upgrade-state": null},
      "annotations": {"nvidia.com/gpu-operator.driver-upgrade-cordon": null,
                      "nvidia.com/gpu-driver-upgrade-enabled": null}},
      "spec": {"unschedulable": null}})"));
  node["metadata"]["annotations"] = {
      {"nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable", "true"}};
  EXPECT_FALSE(StripNode(node).contains("spec")) << "somebody else had cordoned it";
}

TEST(StripNode, EndsTheCordonOfADriverManagerThatWasKilled) {
  const Json node = Json::parse(R"({"metadata": {"annotations": {
      "nvidia.com/gpu-operator.driver-manager-cordon": "true"}}, "spec": {"unschedulable": true}})");
  EXPECT_EQ(StripNode(node), Json::parse(R"({"metadata": {"annotations": {
      "nvidia.com/gpu-operator.driver-manager-cordon": null}}, "spec": {"unschedulable": null}})"));
}

TEST(StripNode, TakesWhatWasDecidedAboutHolders) {
  const Json node = Json::parse(R"({"metadata": {"annotations": {
      "nvidia.com/gpu-operator.mig-gpu-holders": "evict",
      "nvidia.com/gpu-operator.mig-holders-step": "{}"}}})");
  EXPECT_EQ(StripNode(node), Json::parse(R"({"metadata": {"annotations": {
      "nvidia.com/gpu-operator.mig-holders-step": null}}})"))
      << "the other one is a user's";
}

TEST(StripConditions, TakesGantrysAndNoOther) {
  const Json node = Json::parse(R"({"status": {"conditions": [
      {"type": "GPUHealthy", "status": "False"}, {"type": "Ready", "status": "True"},
      {"type": "MIGChangeHeld", "status": "True"}]}})");
  EXPECT_EQ(StripConditions(node), Json::parse(R"([
      {"op": "test", "path": "/status/conditions/2/type", "value": "MIGChangeHeld"},
      {"op": "remove", "path": "/status/conditions/2"},
      {"op": "test", "path": "/status/conditions/0/type", "value": "GPUHealthy"},
      {"op": "remove", "path": "/status/conditions/0"}])"));
  EXPECT_TRUE(StripConditions(node["status"]).is_null());
  EXPECT_TRUE(
      StripConditions(Json::parse(R"({"status": {"conditions": [{"type": "Ready"}]}})")).is_null());
}

TEST(Strip, TakesWhatTheOperatorPutThere) {
  LabelledNode node({{"nvidia.com/gpu.deploy.dcgm", "false"},
                     {"nvidia.com/gpu.deploy.driver", "paused-for-driver-upgrade"},
                     {"nvidia.com/mine", "1"}});
  node.Feature("n", {{kPciLabel, "true"}}).Feature("g", {{"nvidia.com/gpu.product", "T4"}});
  node.Round();
  const Json patch = StripNode(node.node());
  node.node().merge_patch(patch);
  EXPECT_THAT(node.node()["metadata"]["labels"].get<Labels>(),
              UnorderedElementsAre(Pair("kubernetes.io/os", "linux"),
                                   Pair("nvidia.com/gpu.deploy.dcgm", "false"),
                                   Pair("nvidia.com/mine", "1")));
  EXPECT_TRUE(node.node()["metadata"]["annotations"].empty());
  EXPECT_TRUE(StripNode(node.node()).is_null());
  EXPECT_TRUE(StripNode(Json::object()).is_null());
}

TEST(Strip, KnowsItsOwnNodeFeatures) {
  EXPECT_TRUE(IsOurNodeFeature({{"metadata", {{"name", "nvidia-features-for-n"}}}}));
  EXPECT_TRUE(IsOurNodeFeature({{"metadata", {{"name", "nvidia-mig-for-n"}}}}));
  EXPECT_TRUE(IsOurNodeFeature(
      {{"metadata",
        {{"name", "n"},
         {"annotations", {{names::kNfdWorkerVersion, policy::OurWorkerVersion()}}}}}}));
  EXPECT_FALSE(IsOurNodeFeature({{"metadata", {{"name", "vendor"}}}}));
}

}  // namespace
}  // namespace gantry::gpu_operator
