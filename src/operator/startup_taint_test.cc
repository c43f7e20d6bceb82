// SPDX-License-Identifier: Apache-2.0

#include "operator/startup_taint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/strip.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using ::testing::ElementsAre;

constexpr char kKey[] = "startup-taint.cluster-autoscaler.kubernetes.io/gpu";

NodeFacts Node(const Labels& labels, const std::vector<std::string>& taints = {},
               const std::string& ours = "") {
  NodeFacts node;
  node.labels = PackLabels(labels);
  for (const std::string& key : taints) {
    node.taints.push_back({key, "", "NoSchedule"});
  }
  node.startup_taint = ours;
  return node;
}

constexpr char kDeploy[] = "nvidia.com/gpu.deploy.operator-validator";
const Labels kGpu = {{"nvidia.com/gpu.present", "true"}, {kDeploy, "true"}};
const Labels kReady = {
    {"nvidia.com/gpu.present", "true"}, {kDeploy, "true"}, {"nvidia.com/gpu.validation", "ready"}};
const Labels kBroken = {{"nvidia.com/gpu.present", "true"},
                        {kDeploy, "true"},
                        {"nvidia.com/gpu.validation", "DeviceNodeMissing"}};

TaintChange Decide(const NodeFacts& node, const NodeChange& labels, const std::string& key,
                   bool validated = true) {
  LabelRules rules;
  rules.validated = validated;
  return DecideStartupTaint(node, labels, rules, key);
}

TEST(StartupTaint, ComesWithTheLabelsOfAGpuNode) {
  NodeChange labels;
  labels.set = kGpu;
  const TaintChange change = Decide(Node({}), labels, kKey);
  EXPECT_EQ(change.add, kKey);
  EXPECT_EQ(change.annotation, kKey);
  EXPECT_TRUE(Decide(Node({}), {}, kKey).empty()) << "no GPU node";
  EXPECT_TRUE(Decide(Node({}), labels, "").empty()) << "not asked for";
}

TEST(StartupTaint, GoesOnlyAfterACheck) {
  EXPECT_TRUE(Decide(Node(kGpu, {kKey}), {}, kKey).empty());
  EXPECT_THAT(Decide(Node(kReady, {"other", kKey}, kKey), {}, kKey).remove, ElementsAre(kKey));
  NodeChange labels;
  labels.set = {{"nvidia.com/gpu.validation", "ready"}};
  EXPECT_THAT(Decide(Node(kGpu, {kKey}), labels, kKey).remove, ElementsAre(kKey))
      << "one that a node pool put on";
  EXPECT_TRUE(Decide(Node(kReady), {}, kKey).empty());
}

TEST(StartupTaint, ComesBackWhenTheNodeIsSeenToBeBroken) {
  EXPECT_EQ(Decide(Node(kBroken), {}, kKey).add, kKey);
  EXPECT_TRUE(Decide(Node(kBroken, {kKey}, kKey), {}, kKey).empty());
}

TEST(StartupTaint, NothingIsTaintedForWantOfNews) {
  EXPECT_TRUE(Decide(Node(kGpu), {}, kKey).empty());
}

TEST(StartupTaint, ANodeThatNobodyChecksIsOpen) {
  for (const char* deploy : {"", "false"}) {
    Labels labels = kBroken;
    labels[kDeploy] = deploy;
    EXPECT_THAT(Decide(Node(labels, {kKey}), {}, kKey).remove, ElementsAre(kKey)) << deploy;
    EXPECT_TRUE(Decide(Node(labels), {}, kKey).empty()) << deploy;
  }
  NodeChange out_of_service;
  out_of_service.remove = {kDeploy};
  EXPECT_THAT(Decide(Node(kGpu, {kKey}), out_of_service, kKey).remove, ElementsAre(kKey));
  EXPECT_THAT(Decide(Node(kBroken, {kKey}), {}, kKey, false).remove, ElementsAre(kKey))
      << "NVIDIA's validator sets no label";
  Labels paused = kBroken;
  paused[kDeploy] = "paused-for-driver-upgrade";
  EXPECT_TRUE(Decide(Node(paused, {kKey}), {}, kKey).empty()) << "its pod comes back";
}

TEST(StartupTaint, AnotherKeyOrNoneTakesOursBack) {
  const TaintChange none = Decide(Node(kBroken, {kKey}, kKey), {}, "");
  EXPECT_THAT(none.remove, ElementsAre(kKey));
  EXPECT_EQ(none.annotation, "");
  EXPECT_TRUE(Decide(Node(kBroken, {kKey}), {}, "").empty()) << "not ours";
  const TaintChange other = Decide(Node(kBroken, {kKey}, kKey), {}, "example.com/new");
  EXPECT_THAT(other.remove, ElementsAre(kKey));
  EXPECT_EQ(other.add, "example.com/new");
  EXPECT_EQ(other.annotation, "example.com/new");
}

TEST(StartupTaint, ANodeThatHasNoGpuAnyMoreLosesOurs) {
  const Labels gone = {{"nvidia.com/gpu.present", "false"}};
  EXPECT_THAT(Decide(Node(gone, {kKey}, kKey), {}, kKey).remove, ElementsAre(kKey));
  EXPECT_TRUE(Decide(Node(gone, {kKey}), {}, kKey).empty());
}

TEST(StartupTaint, ThePatchKeepsTheTaintsOfOthers) {
  const Json node = {
      {"metadata", {{"resourceVersion", "7"}}},
      {"spec",
       {{"taints",
         {{{"key", "a"}, {"effect", "NoExecute"}, {"timeAdded", "2026-01-01T00:00:00Z"}},
          {{"key", kKey}, {"effect", "NoSchedule"}}}}}}};
  Json patch = {{"metadata", {{"labels", {{"x", "y"}}}}}};
  AddToPatch({.remove = {kKey}, .add = "", .annotation = ""}, node, patch);
  EXPECT_EQ(patch["spec"]["taints"].dump(),
            R"([{"effect":"NoExecute","key":"a","timeAdded":"2026-01-01T00:00:00Z"}])");
  EXPECT_EQ(patch["metadata"]["resourceVersion"], "7");
  EXPECT_EQ(patch["metadata"]["labels"]["x"], "y");
  EXPECT_TRUE(patch["metadata"]["annotations"]["nvidia.com/gpu-operator.startup-taint"].is_null());
  Json added = Json::object();
  AddToPatch({.remove = {}, .add = "new", .annotation = "new"}, node, added);
  EXPECT_EQ(added["spec"]["taints"].size(), 3U);
}

TEST(StartupTaint, ThePatchGoesOnFromWhatItSaysOfTaints) {
  const Json node = {
      {"metadata",
       {{"resourceVersion", "7"},
        {"annotations",
         {{"nvidia.com/gpu-operator.startup-taint", kKey},
          {names::kFeatureLabelsAnnotation, ""},
          {"nfd.node.kubernetes.io/taints", "vendor.com/special=yes:NoSchedule"}}}}},
      {"spec",
       {{"taints",
         {{{"key", "a"}, {"effect", "NoExecute"}},
          {{"key", kKey}, {"effect", "NoSchedule"}},
          {{"key", "vendor.com/special"}, {"value", "yes"}, {"effect", "NoSchedule"}}}}}}};
  EXPECT_EQ(StripNode(node)["spec"]["taints"].dump(), R"([{"effect":"NoExecute","key":"a"}])");
}

TEST(StartupTaint, ARecordWithoutTaintsLeavesTheSpecAlone) {
  const Json node = {
      {"metadata",
       {{"annotations", {{names::kFeatureLabelsAnnotation, ""}, {names::kNfdTaints, ""}}}}}};
  EXPECT_FALSE(StripNode(node).contains("spec"));
}

TEST(StartupTaint, GoesWithAnUninstallation) {
  const Json node = {
      {"metadata",
       {{"resourceVersion", "7"},
        {"annotations", {{"nvidia.com/gpu-operator.startup-taint", kKey}}}}},
      {"spec",
       {{"taints", {{{"key", "a"}, {"effect", "NoExecute"}}, {{"key", kKey}, {"effect", "x"}}}}}}};
  const Json patch = StripNode(node);
  EXPECT_EQ(patch["spec"]["taints"].dump(), R"([{"effect":"NoExecute","key":"a"}])");
  EXPECT_TRUE(patch["metadata"]["annotations"]["nvidia.com/gpu-operator.startup-taint"].is_null());
}

}  // namespace
}  // namespace gantry::gpu_operator
