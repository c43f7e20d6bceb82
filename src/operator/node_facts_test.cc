// SPDX-License-Identifier: Apache-2.0

#include "operator/node_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/node_labels_for_tests.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NodeFacts, KeepsWhatDecides) {
  const Json node = {
      {"metadata",
       {{"labels",
         {{"kubernetes.io/os", "linux"},
          {"nvidia.com/gpu.present", "true"},
          {"feature.node.kubernetes.io/cpu-cpuid.AVX", "true"},
          {"vendor.example/x", "1"},
          {"vendor.example/y", "1"}}},
        {"annotations",
         {{names::kFeatureLabelsAnnotation, "o:vendor.example/x"},
          {names::kNfdFeatureLabelsAnnotation, "a,b"}}}}},
      {"spec",
       {{"taints", Json::array({{{"key", "k"}, {"value", "v"}, {"effect", "NoSchedule"}}})}}},
      {"status",
       {{"capacity", {{"cpu", "8"}, {"nvidia.com/mig-1g.10gb", "7"}}},
        {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})},
        {"nodeInfo", {{"containerRuntimeVersion", "containerd://2.0.1"}}}}}};
  const NodeFacts facts = ProjectNode(node);
  EXPECT_EQ(facts.labels, "nvidia.com/gpu.present=true\nvendor.example/x=1\n");
  EXPECT_TRUE(facts.described && facts.linux && facts.ready);
  EXPECT_FALSE(facts.foreign_nfd);
  EXPECT_EQ(facts.nfd_labels, "a,b");
  EXPECT_TRUE(facts.gpu_resource);
  EXPECT_EQ(facts.runtime, "containerd");
  EXPECT_THAT(facts.taints, ElementsAre(Taint{"k", "v", "NoSchedule"}));
  EXPECT_EQ(ProjectNode(Json::object()), NodeFacts{});
  EXPECT_FALSE(ProjectNode({{"status", {{"capacity", {{"nvidia.com/gpu", "0"}}}}}}).gpu_resource);
}

TEST(NodeFacts, AnNfdWithoutNodeFeaturesIsForeign) {
  EXPECT_TRUE(ProjectNode({{"metadata", {{"annotations", {{names::kNfdMasterVersion, "v0.12"}}}}}})
                  .foreign_nfd);
}

TEST(NodeFacts, TaintsAreReadAsTheyAreWritten) {
  const std::vector<Taint> taints = {{"a/b", "c", "NoSchedule"}, {"d", "", "NoExecute"}};
  EXPECT_EQ(FormatTaints(taints), "a/b=c:NoSchedule,d:NoExecute");
  EXPECT_EQ(ParseTaints("a/b=c:NoSchedule,d:NoExecute"), taints);
  EXPECT_THAT(ParseTaints("nonsense"), IsEmpty());
}

TEST(NodeFacts, SourcesAreReadAsTheyAreWritten) {
  const FeatureSources sources = {{"a", {"x/1", "x/2"}}, {"b", {"y/1"}}};
  EXPECT_EQ(FormatSources(sources), "a:x/1,x/2;b:y/1");
  EXPECT_EQ(ParseSources("a:x/1,x/2;b:y/1"), sources);
  EXPECT_EQ(FormatSources({{"a", {"feature.node.kubernetes.io/x"}}}), "a:x");
  EXPECT_EQ(ParseSources("a:x"), (FeatureSources{{"a", {"feature.node.kubernetes.io/x"}}}));
  EXPECT_EQ(
      FormatNfdLabels({{"a", {"x/1", "x/2"}}, {"b", {"x/1", "feature.node.kubernetes.io/y"}}}),
      "x/1,x/2,y");
  EXPECT_THAT(ParseSources(""), IsEmpty());
  EXPECT_THAT(ParseSources("nonsense"), IsEmpty());
  EXPECT_THAT(SourceNames("a:x/1,x/2;b:y/1"), ElementsAre("a", "b"));
  EXPECT_THAT(SourceNames("nonsense"), IsEmpty());
}

}  // namespace
}  // namespace gantry::gpu_operator
