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

Json Wanted() { return ParseDefinitions(kWanted).value().at(0); }

TEST(Definition, IsReadAsItsFileHasIt) {
  EXPECT_EQ(Wanted()["spec"]["versions"], Json::parse(R"([{"name": "v1", "served": true,
      "schema": {"openAPIV3Schema": {"properties": {"mode": {"enum": ["on", "1"]}}}}}])"));
  for (const char* wrong : {"kind: CustomResourceDefinition", "a: ["}) {
    const auto refused = ParseDefinitions(wrong);
    ASSERT_FALSE(refused.has_value()) << wrong;
    EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid) << wrong;
  }
}

TEST(Definition, MayStandBesideOthersAndOtherThings) {
  const std::string other = "---\nkind: ConfigMap\nmetadata: {name: a}\n---\n";
  EXPECT_TRUE(ParseDefinitions(other).value().empty());
  EXPECT_TRUE(ParseDefinitions("").value().empty());
  const auto both = ParseDefinitions(std::string(kWanted) + other + kWanted);
  EXPECT_EQ(both.value(), (std::vector<Json>{Wanted(), Wanted()}));
}

TEST(Definition, OfNvidiasOperatorIsTakenOver) {
  const Json wanted = Wanted();
  const Json theirs = Json::parse(R"({"metadata": {"name": "things.nvidia.com",
      "annotations": {"controller-gen.kubebuilder.io/version": "v0"}},
      "spec": {"group": "nvidia.com", "versions": [{"name": "v1"}]}})");
  EXPECT_FALSE(IsAnothers(theirs));
  EXPECT_EQ(DefinitionPatch(wanted),
            Json({{"metadata", {{"labels", {{"app.kubernetes.io/managed-by", "gpu-operator"}}}}},
                  {"spec", wanted["spec"]}}));
}

TEST(Definition, OfAnotherNodeFeatureDiscoveryStays) {
  Json there = {{"metadata", {{"name", "things.nfd.k8s-sigs.io"}}},
                {"spec", {{"group", "nfd.k8s-sigs.io"}}}};
  EXPECT_TRUE(IsAnothers(there));
  there["metadata"]["labels"] = Wanted()["metadata"]["labels"];
  EXPECT_FALSE(IsAnothers(there));
}

TEST(Definition, ThatIsBeingDeletedSaysWhatHoldsIt) {
  Json there = Wanted();
  EXPECT_FALSE(IsBeingDeleted(there));
  there["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z";
  EXPECT_TRUE(IsBeingDeleted(there));
  EXPECT_EQ(WhyStillThere(there), "the API server has not begun");
  there["status"]["conditions"] =
      Json::parse(R"([{"type": "Established", "status": "True", "message": "accepted"},
                      {"type": "Terminating", "status": "True", "message": "objects remain"}])");
  EXPECT_EQ(WhyStillThere(there), "objects remain");
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
