// SPDX-License-Identifier: Apache-2.0
#include "agent/pause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/names.h"

namespace gantry::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::string_view kMark = names::kDeployPaused;

TEST(DeployLabels, ArePausedAndResumedAsNvidiaDoes) {
  struct Case {
    const char* value;
    const char* paused;
  };
  for (const Case& each :
       {Case{"true", "paused-for-driver-upgrade"}, Case{"yes", "yes_paused-for-driver-upgrade"},
        Case{"false", "false"}, Case{"", ""}}) {
    EXPECT_EQ(PausedValue(each.value, kMark), each.paused);
    EXPECT_EQ(PausedValue(each.paused, kMark), each.paused) << "twice";
    EXPECT_EQ(ResumedValue(each.paused, kMark), each.value);
    EXPECT_EQ(ResumedValue(each.value, kMark), each.value) << "what was not paused";
  }
  EXPECT_EQ(ResumedValue("paused-for-driver-upgrade_yes", kMark), "yes");
}

TEST(DeployLabels, OnlyThoseOfOperandsThatUseTheDriverChange) {
  const Labels node = {{"nvidia.com/gpu.deploy.driver", "true"},
                       {"nvidia.com/gpu.deploy.device-plugin", "true"},
                       {"nvidia.com/gpu.deploy.dcgm", "false"},
                       {"nvidia.com/gpu.deploy.node-status-exporter", "true"},
                       {"my/label", "on"},
                       {"other", "true"}};
  EXPECT_THAT(PausedLabels(node, "", kMark), ElementsAre(Pair("nvidia.com/gpu.deploy.device-plugin",
                                                              "paused-for-driver-upgrade")));
  const Labels both = PausedLabels(node, "my/label", kMark);
  EXPECT_THAT(
      both, ElementsAre(Pair("my/label", "on_paused-for-driver-upgrade"),
                        Pair("nvidia.com/gpu.deploy.device-plugin", "paused-for-driver-upgrade")));
  EXPECT_THAT(
      ResumedLabels(both, "my/label", kMark),
      ElementsAre(Pair("my/label", "on"), Pair("nvidia.com/gpu.deploy.device-plugin", "true")));
  EXPECT_THAT(ResumedLabels(node, "", kMark), IsEmpty());
}

TEST(DeployLabels, AnotherMarkIsNotTouched) {
  const Labels node = {{"nvidia.com/gpu.deploy.dcgm", "paused-for-mig-change"}};
  EXPECT_THAT(ResumedLabels(node, "", kMark), IsEmpty());
  EXPECT_THAT(ResumedLabels(node, "", "paused-for-mig-change"),
              ElementsAre(Pair("nvidia.com/gpu.deploy.dcgm", "true")));
}

TEST(LabelsOfTest, WhatIsNoStringIsEmpty) {
  EXPECT_THAT(LabelsOf(Json::parse(R"({"metadata": {"labels": {"a": "1", "b": 2}}})")),
              ElementsAre(Pair("a", "1"), Pair("b", "")));
  EXPECT_THAT(LabelsOf(Json::parse("{}")), IsEmpty());
}

}  // namespace
}  // namespace gantry::agent
