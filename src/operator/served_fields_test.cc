// SPDX-License-Identifier: Apache-2.0
#include "operator/served_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/paths.h"
#include "base/text.h"
#include "operator/definitions.h"

namespace gantry::gpu_operator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json Definition(std::string_view schema, std::string_view group = "nvidia.com",
                std::string_view version = "v1") {
  return {
      {"metadata", {{"name", "clusterpolicies.nvidia.com"}}},
      {"spec",
       {{"group", group},
        {"names", {{"kind", "ClusterPolicy"}}},
        {"versions", Json::array({{{"name", version},
                                   {"served", true},
                                   {"storage", true},
                                   {"schema", {{"openAPIV3Schema", Json::parse(schema)}}}}})}}}};
}

constexpr char kOurs[] = R"({"properties": {
    "apiVersion": {"type": "string"}, "metadata": {"type": "object"},
    "spec": {"properties": {
        "hostPaths": {"properties": {"rootFS": {}, "kubeletRootDir": {}}},
        "driver": {"properties": {"env": {"items": {"properties": {"name": {}, "value": {}}}}}},
        "daemonsets": {"properties": {"labels": {"additionalProperties": {"type": "string"}}}}}},
    "status": {"properties": {"operands": {"items": {"properties": {"name": {}}}}}}}})";

const OwnDefinition kOwn = {
    .name = "clusterpolicies.nvidia.com",
    .kind = "ClusterPolicy",
    .version = "v1",
    .fields = {"apiVersion", "metadata", "spec", "spec.daemonsets", "spec.daemonsets.labels",
               "spec.daemonsets.labels.*", "spec.driver", "spec.driver.env",
               "spec.driver.env[].name", "spec.driver.env[].value", "spec.hostPaths",
               "spec.hostPaths.kubeletRootDir", "spec.hostPaths.rootFS", "status",
               "status.operands", "status.operands[].name"}};

std::vector<std::string> Dropped(const Json& there) { return DroppedFields(kOwn, there); }

TEST(ServedFields, OfTheSameDefinitionNothingIsDropped) {
  EXPECT_THAT(Dropped(Definition(kOurs)), IsEmpty());
}

// contrast#2599: the definitions of v25.3.4 stay when their operator goes.
TEST(ServedFields, TheFileHasThoseOfTheChartsDefinitions) {
  const auto all = OwnDefinitions(
      ParseJson(ReadFile("deploy/crd_schema/definition-fields.json").value()).value());
  ASSERT_TRUE(all.has_value()) << all.error().message;
  EXPECT_EQ(all->size(), 7U);
  for (const OwnDefinition& own : *all) {
    const size_t dot = own.name.find('.');
    const std::string file =
        format("deploy/chart/crds/{}_{}.yaml", own.name.substr(dot + 1), own.name.substr(0, dot));
    const Json definition = ParseDefinitions(ReadFile(file).value()).value().at(0);
    EXPECT_THAT(DroppedFields(own, definition), IsEmpty()) << own.name;
    EXPECT_EQ(TextAt(definition, "spec.names.kind"), own.kind);
  }
  EXPECT_EQ(OwnDefinitions(Json::parse(R"({"a": {}})")).error().kind, ErrorKind::kInvalid);
}

TEST(ServedFields, WhatAnOlderDefinitionLacksIsNamed) {
  EXPECT_THAT(Dropped(Definition(R"({"properties": {
      "spec": {"properties": {"hostPaths": {"properties": {"rootFS": {}}},
          "driver": {"properties": {"env": {"items": {"properties": {"name": {}}}}}},
          "daemonsets": {"properties": {"labels": {}}}}},
      "status": {"properties": {"state": {}}}}})")),
              ElementsAre("spec.daemonsets.labels.*", "spec.driver.env[].value",
                          "spec.hostPaths.kubeletRootDir", "status.operands"));
  // As a whole, not field by field.
  EXPECT_THAT(Dropped(Definition(R"({"properties": {"status": {"properties": {"operands":
      {"items": {"properties": {"name": {}}}}}}}})")),
              ElementsAre("spec"));
}

TEST(ServedFields, WhatPrunesNothingDropsNothing) {
  EXPECT_THAT(Dropped(Definition(R"({"x-kubernetes-preserve-unknown-fields": true})")), IsEmpty());
  EXPECT_THAT(Dropped(Definition(R"({"properties": {"status": {},
      "spec": {"x-kubernetes-preserve-unknown-fields": true, "properties": {"mig": {}}}}})")),
              ElementsAre("status.operands"));
}

TEST(ServedFields, AVersionThatIsNotServedIsNamed) {
  EXPECT_THAT(Dropped(Definition(kOurs, "nvidia.com", "v2")), ElementsAre("v1"));
}

TEST(ServedFields, TheDefinitionsOfANodeFeatureDiscoveryBesideOursAreItsOwn) {
  EXPECT_THAT(Dropped(Definition(R"({"properties": {}})", "nfd.k8s-sigs.io")), IsEmpty());
}

TEST(ServedFields, TheCureIsALineToRun) {
  EXPECT_THAT(OutdatedText(kOwn, {"spec.hostPaths.kubeletRootDir"}),
              HasSubstr("spec.hostPaths.kubeletRootDir; run kubectl apply --server-side "
                        "--force-conflicts -f crds/nvidia.com_clusterpolicies.yaml"));
  EXPECT_THAT(OutdatedText(kOwn, {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}),
              HasSubstr("8 and 2 more;"));
}

}  // namespace
}  // namespace gantry::gpu_operator
