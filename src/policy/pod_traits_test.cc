// SPDX-License-Identifier: Apache-2.0
#include "policy/pod_traits.h"

#include <gtest/gtest.h>

namespace gantry::policy {
namespace {

Json PodOf(const char* owner_kind, bool controller) {
  return {{"metadata",
           {{"ownerReferences",
             {{{"kind", "Other"}, {"name", "o"}},
              {{"kind", owner_kind}, {"name", "x"}, {"controller", controller}}}}}}};
}

TEST(PodTraits, WhoMakesItAnew) {
  EXPECT_EQ(TraitsOf(PodOf("DaemonSet", true)).daemon_set, "x");
  EXPECT_TRUE(TraitsOf(PodOf("DaemonSet", true)).managed);
  EXPECT_EQ(TraitsOf(PodOf("ReplicaSet", true)).daemon_set, "");
  EXPECT_TRUE(TraitsOf(PodOf("ReplicaSet", true)).managed);
  EXPECT_FALSE(TraitsOf(PodOf("DaemonSet", false)).managed);
  EXPECT_EQ(DaemonSetOf(PodOf("DaemonSet", false)), "");
  EXPECT_FALSE(TraitsOf(Json::object()).managed);
}

TEST(PodTraits, WhatUsesGpus) {
  const auto uses = [](const char* list, const char* part, const char* resource) {
    Json pod;
    pod["spec"][list] = Json::array({{{"name", "first"}}, {{"name", "second"}}});
    pod["spec"][list][1]["resources"][part][resource] = "1";
    return TraitsOf(pod).uses_gpus;
  };
  EXPECT_TRUE(uses("containers", "limits", "nvidia.com/gpu"));
  EXPECT_TRUE(uses("containers", "requests", "nvidia.com/gpu.shared"));
  EXPECT_TRUE(uses("initContainers", "limits", "nvidia.com/mig-1g.5gb"));
  EXPECT_FALSE(uses("containers", "limits", "cpu"));
  EXPECT_FALSE(uses("ephemeralContainers", "limits", "nvidia.com/gpu"));
}

TEST(PodTraits, WhatKeepsItWhereItIs) {
  const auto ended = [](const char* phase) {
    return TraitsOf({{"status", {{"phase", phase}}}}).finished;
  };
  EXPECT_TRUE(ended("Succeeded"));
  EXPECT_TRUE(ended("Failed"));
  EXPECT_FALSE(ended("Running"));
  const Json mirror = {{"metadata", {{"annotations", {{"kubernetes.io/config.mirror", "1"}}}}}};
  EXPECT_TRUE(TraitsOf(mirror).mirror);
  EXPECT_FALSE(TraitsOf(Json::object()).mirror);
  Json pod;
  pod["spec"]["volumes"] = Json::array({{{"name", "a"}, {"hostPath", Json::object()}}});
  EXPECT_FALSE(TraitsOf(pod).has_empty_dir);
  pod["spec"]["volumes"].push_back({{"name", "b"}, {"emptyDir", Json::object()}});
  EXPECT_TRUE(TraitsOf(pod).has_empty_dir);
}

}  // namespace
}  // namespace gantry::policy
