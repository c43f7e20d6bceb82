// SPDX-License-Identifier: Apache-2.0
#include "operator/value_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

using testing::ElementsAre;

const Json kFile = Json::parse(R"({"known": {
    "driver": {"env": [{"name": null, "value": null}], "version": null, "upgradePolicy":
               {"maxParallelUpgrades": null, "drain": {"enable": null}}},
    "devicePlugin": {"enabled": null, "config": {"data": "*"}},
    "daemonsets": {"tolerations": ["*"], "labels": "*"},
    "operator": {"tolerations": ["*"], "image": null},
    "dcgmExporter": {"serviceMonitor": {"interval": null}},
    "validator": {"env": [{"name": null}]}}})");

TEST(ValueNames, OfAllValues) {
  EXPECT_THAT(KnownValues(Json::parse(R"({"known": {"a": {"b": [{"c": null}]}, "d": "*"}})")),
              ElementsAre("a", "a.b", "a.b[].c", "d"));
  EXPECT_TRUE(KnownValues(Json::object()).empty());
}

TEST(ValueNames, TheNearestIsWhatWasMeant) {
  const std::vector<std::string> known = KnownValues(kFile);
  for (const auto& [name, meant] : std::map<std::string, std::string>{
           {"driver.verison", "driver.version"},
           {"operator.imagee", "operator.image"},
           {"devicePlugins", "devicePlugin"},
           {"dcgmExporter.serviceMonitor.intervall", "dcgmExporter.serviceMonitor.interval"},
           {"driver.upgradePolicy.drain.enabled", "driver.upgradePolicy.drain.enable"},
           // NVIDIA/aicr: one level too high.
           {"driver.maxParallelUpgrades", "driver.upgradePolicy.maxParallelUpgrades"},
           // op#575, op#644: what all operands have together.
           {"validator.tolerations", "daemonsets.tolerations"},
           {"driver.env[].nmae", "driver.env[].name"},
           {"fakeToolkitReady", ""},
           {"hami.enabled", ""}}) {
    EXPECT_EQ(NearestValue(name, known), meant) << name;
  }
  EXPECT_THAT(WithNearest({"driver.verison", "fakeToolkitReady"}, known),
              ElementsAre("driver.verison (driver.version?)", "fakeToolkitReady"));
}

TEST(ValueNames, AreAListInJson) {
  EXPECT_THAT(ParseNames(R"(["a","b.c"])").value(), ElementsAre("a", "b.c"));
  EXPECT_TRUE(ParseNames("").value().empty());
  for (const char* wrong : {"a,b", "{}", "[1]"}) {
    EXPECT_EQ(ParseNames(wrong).error().kind, ErrorKind::kInvalid) << wrong;
  }
}

}  // namespace
}  // namespace gantry::gpu_operator
