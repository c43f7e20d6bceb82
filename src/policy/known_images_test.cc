// SPDX-License-Identifier: Apache-2.0
#include "policy/known_images.h"

#include <gtest/gtest.h>

#include "policy/cluster_policy.h"
#include "policy/gpu_cluster_policy.h"
#include "policy/image.h"
#include "policy/operands.h"

namespace gantry::policy {
namespace {

std::string DriverOf(const Json& section, const std::string& known = "nvcr.io/nvidia/driver") {
  const Json policy =
      WithKnownImages({{"spec", section.is_null() ? Json::object() : Json{{"driver", section}}}},
                      {{"driver", known}});
  const auto parsed = Parse(policy);
  if (!parsed.has_value()) {
    return parsed.error().message;
  }
  const auto image = ChooseImage(parsed->driver.image, "", "driver");
  return image.has_value() ? image->image : image.error().message;
}

TEST(KnownImages, AVersionAloneIsOfTheKnownImage) {
  EXPECT_EQ(DriverOf({{"version", "470.82.01"}}), "nvcr.io/nvidia/driver:470.82.01");
  EXPECT_EQ(DriverOf({{"version", "sha256:ab"}}), "nvcr.io/nvidia/driver@sha256:ab");
  EXPECT_EQ(DriverOf({{"version", "1"}}, "r:5000/driver:9@sha256:ab"), "r:5000/driver:1");
  EXPECT_EQ(DriverOf({{"version", "1"}}, "r:5000/driver"), "r:5000/driver:1");
  EXPECT_EQ(DriverOf({{"version", "1"}, {"repository", "r"}, {"image", "i"}}), "r/i:1");
  EXPECT_EQ(DriverOf({{"version", 1}}), "spec.driver.version: must be a string");
  const std::string half = "spec.driver: repository, image and version are needed together";
  EXPECT_EQ(DriverOf({{"version", "1"}, {"image", "r/i:2"}}), half);
}

TEST(KnownImages, AWholeOneIsThatOfASectionThatNamesNothing) {
  const std::string none = "spec.driver: no image is set and the operator has no default";
  for (const Json& section : {Json(), Json({{"enabled", true}, {"version", ""}})}) {
    EXPECT_EQ(DriverOf(section), none);
    EXPECT_EQ(DriverOf(section, "r:5000/driver:9"), "r:5000/driver:9");
    EXPECT_EQ(DriverOf(section, "r:5000/driver@sha256:ab"), "r:5000/driver@sha256:ab");
  }
}

TEST(KnownImages, WhatAGpuClusterPolicyAsksForCanRun) {
  const Json short_form = {{"spec",
                            {{"driver", {{"enabled", true}, {"version", "470.82.01"}}},
                             {"migManager", {{"enabled", true}, {"version", "v0.5.0"}}}}}};
  const auto policy = Parse(WithKnownImages(
      LayOver(short_form, Json()).policy,
      {{"driver", "nvcr.io/nvidia/driver"}, {"migManager", "nvcr.io/nvidia/k8s-mig-manager"}}));
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  for (const OperandId id : {OperandId::kDriver, OperandId::kMigManager}) {
    EXPECT_TRUE(Wanted(OperandOf(id), *policy)) << OperandOf(id).state;
    EXPECT_TRUE(CanRun(OperandOf(id), *policy)) << OperandOf(id).state;
  }
}

}  // namespace
}  // namespace gantry::policy
