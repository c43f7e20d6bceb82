// SPDX-License-Identifier: Apache-2.0

#include "policy/gpu_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "policy/cluster_policy.h"

namespace gantry::policy {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Result<GpuHoldersSpec> HoldersIn(Json holders) {
  const Json manager = {{"gpuHolders", std::move(holders)}};
  auto policy = Parse({{"spec", {{"migManager", manager}}}});
  if (!policy.has_value()) {
    return std::unexpected(std::move(policy).error());
  }
  return policy->gpu_holders;
}

std::string MistakeOf(const Result<GpuHoldersSpec>& read) {
  return read.has_value() ? "" : read.error().message;
}

TEST(GpuHolders, AbsentMeansThatTheChangeFails) {
  for (const Json& absent : {Json(), Json::object()}) {
    const auto spec = HoldersIn(absent);
    ASSERT_TRUE(spec.has_value());
    EXPECT_EQ(*spec, GpuHoldersSpec());
    EXPECT_EQ(Name(spec->action), "fail");
    EXPECT_EQ(spec->removal, (PodRemovalSpec{false, false, seconds(300)}));
  }
}

TEST(GpuHolders, EachActionAndItsFields) {
  for (const HolderAction action :
       {HolderAction::kFail, HolderAction::kWait, HolderAction::kEvict, HolderAction::kDelete}) {
    const auto spec = HoldersIn({{"action", Name(action)},
                                 {"timeoutSeconds", 7},
                                 {"force", true},
                                 {"deleteEmptyDir", true}});
    ASSERT_TRUE(spec.has_value());
    EXPECT_EQ(*spec, (GpuHoldersSpec{action, {true, true, seconds(7)}}));
  }
}

TEST(GpuHolders, AWrongFieldIsNamed) {
  EXPECT_EQ(MistakeOf(HoldersIn({{"action", "drain"}})),
            "spec.migManager.gpuHolders.action: \"drain\" is none of fail, wait, evict, delete");
  EXPECT_THAT(MistakeOf(HoldersIn({{"timeoutSeconds", -1}})),
              StartsWith("spec.migManager.gpuHolders.timeoutSeconds: "));
  EXPECT_THAT(MistakeOf(HoldersIn({{"force", "yes"}})),
              StartsWith("spec.migManager.gpuHolders.force: "));
  EXPECT_THAT(MistakeOf(HoldersIn("evict")), StartsWith("spec.migManager.gpuHolders"));
}

TEST(GpuHolders, ANodesAnnotationReplacesWhatItNames) {
  const GpuHoldersSpec of_policy = {HolderAction::kWait, {true, false, seconds(60)}};
  EXPECT_EQ(GpuHoldersOfNode("", of_policy), of_policy);
  EXPECT_EQ(GpuHoldersOfNode(" evict\n", of_policy),
            (GpuHoldersSpec{HolderAction::kEvict, {true, false, seconds(60)}}));
  EXPECT_EQ(
      GpuHoldersOfNode(R"({"action": "delete", "timeoutSeconds": 0, "force": false})", of_policy),
      (GpuHoldersSpec{HolderAction::kDelete, {false, false, seconds(0)}}));
}

TEST(GpuHolders, AWrongAnnotationIsNamedWithItsField) {
  constexpr char kName[] = "annotation nvidia.com/gpu-operator.mig-gpu-holders";
  EXPECT_EQ(MistakeOf(GpuHoldersOfNode("drain", {})),
            std::string(kName) + ".action: \"drain\" is none of fail, wait, evict, delete");
  EXPECT_THAT(MistakeOf(GpuHoldersOfNode(R"({"timeout": 5})", {})),
              AllOf(StartsWith(std::string(kName) + ".timeout: "), HasSubstr("timeoutSeconds")));
  EXPECT_THAT(MistakeOf(GpuHoldersOfNode(R"({"timeoutSeconds": "5m"})", {})),
              StartsWith(std::string(kName) + ".timeoutSeconds: "));
  EXPECT_THAT(MistakeOf(GpuHoldersOfNode("{", {})), StartsWith(kName));
}

}  // namespace
}  // namespace gantry::policy
