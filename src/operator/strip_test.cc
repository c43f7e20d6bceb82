// SPDX-License-Identifier: Apache-2.0
#include "operator/strip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

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

TEST(StripConditions, TakesTheDevicePluginsAndNoOther) {
  const Json node = Json::parse(R"({"status": {"conditions": [
      {"type": "Ready", "status": "True"}, {"type": "GPUHealthy", "status": "False"}]}})");
  EXPECT_EQ(StripConditions(node), Json::parse(R"([
      {"op": "test", "path": "/status/conditions/1/type", "value": "GPUHealthy"},
      {"op": "remove", "path": "/status/conditions/1"}])"));
  EXPECT_TRUE(StripConditions(node["status"]).is_null());
  EXPECT_TRUE(
      StripConditions(Json::parse(R"({"status": {"conditions": [{"type": "Ready"}]}})")).is_null());
}

}  // namespace
}  // namespace gantry::gpu_operator
