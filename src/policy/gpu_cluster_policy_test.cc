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

TEST(LayOver, WhatItSaysOfDriversIsInVainBesideNvidiaDrivers) {
  const auto in_vain = [](const Json& short_form, bool crd) {
    return LayOver(short_form, {{"spec", {{"driver", {{"useNvidiaDriverCRD", crd}}}}}}).in_vain;
  };
  EXPECT_THAT(in_vain(Whole(), true), ElementsAre("driver.enabled", "driver.version"));
  EXPECT_THAT(in_vain(Whole(), false), IsEmpty());
  EXPECT_THAT(in_vain({{"spec", {{"driver", {{"version", ""}}}}}}, true), IsEmpty());
}

TEST(LayOver, AWrongTypeIsNamedByWhatReadsTheOutcome) {
  const auto policy = Parse(LayOver({{"spec", {{"driver", {{"version", 5}}}}}}, Json()).policy);
  ASSERT_FALSE(policy.has_value());
  EXPECT_THAT(policy.error().message, testing::HasSubstr("spec.driver.version"));
}

TEST(LayOver, CudaIsTheShortFormsAlone) {
  const auto cuda = [](const Json& section) {
    const auto policy = Parse(LayOver({{"spec", {{"cuda", section}}}}, Json()).policy);
    CHECK(policy.has_value());
    return *policy;
  };
  const ClusterPolicy whole = cuda({{"enabled", true},
                                    {"version", "11.4"},
                                    {"repository", "r"},
                                    {"image", "i"},
                                    {"imagePullSecrets", {"s"}},
                                    {"volume", {{"hostPath", {{"path", "/x"}}}}}});
  EXPECT_TRUE(whole.cuda.enabled);
  EXPECT_EQ(whole.cuda_source.version, "11.4");
  EXPECT_EQ(whole.cuda_source.repository, "r");
  EXPECT_EQ(whole.cuda_source.image, "i");
  EXPECT_EQ(TextAt(whole.cuda_source.volume, "hostPath.path"), "/x");
  EXPECT_THAT(whole.cuda.image.pull_secrets, ElementsAre("s"));
  EXPECT_EQ(whole.cuda.image.version, "") << "it is not the operand's";
  EXPECT_TRUE(cuda({{"version", "11.4"}}).cuda.enabled);
  EXPECT_FALSE(cuda({{"version", "11.4"}, {"enabled", false}}).cuda.enabled);
  EXPECT_FALSE(cuda(Json::object()).cuda.enabled);
  EXPECT_FALSE(cuda(nullptr).cuda.enabled);
}

}  // namespace
}  // namespace gantry::policy
