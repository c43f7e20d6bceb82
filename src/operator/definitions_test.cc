// SPDX-License-Identifier: Apache-2.0
#include "operator/definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

constexpr char kWanted[] = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.nvidia.com
  labels: {app.kubernetes.io/managed-by: gpu-operator}
spec:
  group: nvidia.com
  versions: [{name: v1, served: true, schema: {openAPIV3Schema: {properties: {mode: {enum: ["on", "1"]}}}}}]
)";

TEST(Definition, IsReadAsItsFileHasIt) {
  const auto definition = ParseDefinition(kWanted);
  ASSERT_TRUE(definition.has_value()) << definition.error().message;
  EXPECT_EQ((*definition)["spec"]["versions"], Json::parse(R"([{"name": "v1", "served": true,
      "schema": {"openAPIV3Schema": {"properties": {"mode": {"enum": ["on", "1"]}}}}}])"));
  for (const char* other :
       {"", "kind: ConfigMap\nmetadata: {name: a}", "kind: CustomResourceDefinition", "a: ["}) {
    const auto refused = ParseDefinition(other);
    ASSERT_FALSE(refused.has_value()) << other;
    EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid) << other;
  }
}

TEST(Definition, OfNvidiasOperatorIsTakenOver) {
  const Json wanted = *ParseDefinition(kWanted);
  const Json theirs = Json::parse(R"({"metadata": {"name": "things.nvidia.com",
      "annotations": {"controller-gen.kubebuilder.io/version": "v0"}},
      "spec": {"group": "nvidia.com", "versions": [{"name": "v1"}]}})");
  EXPECT_EQ(DefinitionPatch(wanted, theirs),
            Json({{"metadata", {{"labels", {{"app.kubernetes.io/managed-by", "gpu-operator"}}}}},
                  {"spec", wanted["spec"]}}));
}

TEST(Definition, OfAnotherNodeFeatureDiscoveryStays) {
  Json wanted = *ParseDefinition(kWanted);
  wanted["spec"]["group"] = "nfd.k8s-sigs.io";
  Json there = {{"metadata", {{"name", "things.nfd.k8s-sigs.io"}}},
                {"spec", {{"group", "nfd.k8s-sigs.io"}}}};
  EXPECT_TRUE(DefinitionPatch(wanted, there).is_null());
  there["metadata"]["labels"] = wanted["metadata"]["labels"];
  EXPECT_EQ(DefinitionPatch(wanted, there)["spec"], wanted["spec"]);
}

TEST(Definition, IsEstablishedWhenTheApiServerSaysSo) {
  const auto established = [](const char* type, const char* status) {
    return IsEstablished({{"status", {{"conditions", {{{"type", type}, {"status", status}}}}}}});
  };
  EXPECT_TRUE(established("Established", "True"));
  EXPECT_FALSE(established("Established", "False"));
  EXPECT_FALSE(established("NamesAccepted", "True"));
  EXPECT_FALSE(IsEstablished(Json::object()));
}

}  // namespace
}  // namespace gantry::gpu_operator
