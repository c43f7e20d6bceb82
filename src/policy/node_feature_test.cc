// SPDX-License-Identifier: Apache-2.0
#include "policy/node_feature.h"

#include <gtest/gtest.h>

#include "policy/names.h"

namespace gantry::policy {
namespace {

const NodeFeature kWanted{.name = "nvidia-features-for-a",
                          .ns = "gpu-operator",
                          .node = "a",
                          .worker_version = "",
                          .labels = {{"nvidia.com/gpu.count", "2"}}};

TEST(NodeFeature, IsOwnedByNobody) {
  const Json object = NodeFeatureObject(kWanted, nullptr);
  EXPECT_EQ(object, Json::parse(R"({
    "apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature",
    "metadata": {"name": "nvidia-features-for-a", "namespace": "gpu-operator",
      "labels": {"nfd.node.kubernetes.io/node-name": "a"}},
    "spec": {"labels": {"nvidia.com/gpu.count": "2"},
      "features": {"attributes": {}, "flags": {}, "instances": {}}}})"));
}

TEST(NodeFeature, EqualsTheStoredOneWhenNothingChanged) {
  Json stored = NodeFeatureObject(kWanted, nullptr);
  stored["metadata"]["resourceVersion"] = "7";
  stored["metadata"]["labels"]["somebody/else"] = "x";
  EXPECT_EQ(NodeFeatureObject(kWanted, &stored), stored);
}

TEST(NodeFeature, DiffersInLabelsOwnersAndVersion) {
  const Json stored = NodeFeatureObject(kWanted, nullptr);
  NodeFeature fewer = kWanted;
  fewer.labels.clear();
  EXPECT_NE(NodeFeatureObject(fewer, &stored), stored);
  EXPECT_TRUE(NodeFeatureLabels(NodeFeatureObject(fewer, &stored)).empty());
  // As an earlier release or another feature discovery has written it: it would go with its owner.
  Json owned = stored;
  owned["metadata"]["ownerReferences"] = Json::array({{{"kind", "Node"}, {"name", "a"}}});
  EXPECT_EQ(NodeFeatureObject(kWanted, &owned), stored);
  NodeFeature worker = kWanted;
  worker.worker_version = OurWorkerVersion();
  EXPECT_NE(NodeFeatureObject(worker, &stored), stored);
  NodeFeature said = kWanted;
  said.annotations = {{"a", "b"}};
  EXPECT_EQ(NodeFeatureObject(said, &stored)["metadata"]["annotations"], (Json{{"a", "b"}}));
}

TEST(NodeFeature, KnowsOurWorker) {
  NodeFeature worker = kWanted;
  EXPECT_FALSE(IsFromOurWorker(NodeFeatureObject(worker, nullptr)));
  worker.worker_version = "v0.19.0";
  EXPECT_FALSE(IsFromOurWorker(NodeFeatureObject(worker, nullptr)));
  worker.worker_version = OurWorkerVersion();
  EXPECT_TRUE(IsFromOurWorker(NodeFeatureObject(worker, nullptr)));
}

TEST(NodeFeature, LabelsThatAreNoStringsAreLeftOut) {
  const Json stored = Json::parse(R"({"spec": {"labels": {"a": "1", "b": 2}}})");
  EXPECT_EQ(NodeFeatureLabels(stored), (std::map<std::string, std::string>{{"a", "1"}}));
  EXPECT_TRUE(NodeFeatureLabels(Json::object()).empty());
}

}  // namespace
}  // namespace gantry::policy
