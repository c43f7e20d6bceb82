// SPDX-License-Identifier: Apache-2.0
#include "policy/gpu_cluster_policy.h"

#include <gmock/gmock.h>

#include "policy/cluster_policy.h"

namespace gantry::policy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Everything that the short form has.
Json Whole() {
  return {{"apiVersion", "gpu.nvidia.com/v1"},
          {"kind", "GPUClusterPolicy"},
          {"metadata", {{"name", "gpu-cluster-policy"}}},
          {"spec",
           {{"driver", {{"enabled", true}, {"version", "470.82.01"}}},
            {"cuda", {{"enabled", true}, {"version", "11.4"}}},
            {"devicePlugin", {{"enabled", true}}},
            {"migManager", {{"enabled", false}}}}}};
}

TEST(LayOver, AloneItIsAClusterPolicyWithNvidiasDefaults) {
  const LaidOver laid = LayOver(Whole(), Json());
  EXPECT_THAT(laid.overridden, IsEmpty());
  const auto policy = Parse(laid.policy);
  ASSERT_TRUE(policy.has_value());
  EXPECT_TRUE(policy->driver.enabled);
  EXPECT_EQ(policy->driver.image.version, "470.82.01");
  EXPECT_TRUE(policy->device_plugin.enabled);
  EXPECT_FALSE(policy->mig_manager.enabled);
  EXPECT_TRUE(policy->gfd.enabled);
}

TEST(LayOver, WhatItSaysTakesThePlaceOfTheClusterPolicys) {
  const Json policy = {
      {"kind", "ClusterPolicy"},
      {"metadata", {{"name", "cluster-policy"}}},
      {"spec",
       {{"driver",
         {{"enabled", false}, {"version", "535.261.03"}, {"repository", "r"}, {"image", "driver"}}},
        {"migManager", {{"enabled", true}}},
        {"devicePlugin", {{"enabled", true}}},
        {"toolkit", {{"enabled", false}}}}}};
  const LaidOver laid = LayOver(Whole(), policy);
  EXPECT_THAT(laid.overridden,
              ElementsAre("driver.enabled", "driver.version", "migManager.enabled"));
  EXPECT_EQ(laid.policy["metadata"], policy["metadata"]);
  EXPECT_EQ(
      laid.policy["spec"]["driver"],
      Json(
          {{"enabled", true}, {"version", "470.82.01"}, {"repository", "r"}, {"image", "driver"}}));
  EXPECT_EQ(laid.policy["spec"]["migManager"]["enabled"], false);
  EXPECT_EQ(laid.policy["spec"]["toolkit"], policy["spec"]["toolkit"]);
}

TEST(LayOver, WhatItDoesNotSayStays) {
  const Json empty = {{"spec", {{"driver", {{"version", ""}, {"enabled", nullptr}}}}}};
  const Json policy = {{"spec", {{"driver", {{"enabled", false}, {"version", "535.261.03"}}}}}};
  const LaidOver laid = LayOver(empty, policy);
  EXPECT_THAT(laid.overridden, IsEmpty());
  EXPECT_EQ(laid.policy, policy);
  EXPECT_THAT(LayOver(Whole(), {{"spec", {{"driver", nullptr}}}}).overridden, IsEmpty());
}

TEST(LayOver, AWrongTypeIsNamedByWhatReadsTheOutcome) {
  const auto policy = Parse(LayOver({{"spec", {{"driver", {{"version", 5}}}}}}, Json()).policy);
  ASSERT_FALSE(policy.has_value());
  EXPECT_THAT(policy.error().message, testing::HasSubstr("spec.driver.version"));
}

TEST(UnsupportedShortFields, CudaUnlessItIsSwitchedOff) {
  EXPECT_THAT(UnsupportedShortFields(Whole()), ElementsAre("cuda"));
  EXPECT_THAT(UnsupportedShortFields({{"spec", {{"cuda", {{"version", "11.4"}}}}}}),
              ElementsAre("cuda"));
  EXPECT_THAT(UnsupportedShortFields({{"spec", {{"cuda", {{"enabled", false}}}}}}), IsEmpty());
  EXPECT_THAT(UnsupportedShortFields({{"spec", {{"cuda", Json::object()}}}}), IsEmpty());
  EXPECT_THAT(UnsupportedShortFields({{"spec", {{"driver", {{"enabled", true}}}}}}), IsEmpty());
}

}  // namespace
}  // namespace gantry::policy
