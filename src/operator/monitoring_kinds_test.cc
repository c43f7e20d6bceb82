// SPDX-License-Identifier: Apache-2.0
#include "operator/monitoring_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/desired/monitoring.h"

namespace gantry::gpu_operator {
namespace {

Json Definition() {
  return {{"metadata", {{"name", "servicemonitors.monitoring.coreos.com"}}},
          {"spec",
           {{"versions", Json::array({{{"name", "v1alpha1"}, {"served", false}},
                                      {{"name", "v1"}, {"served", true}}})}}},
          {"status",
           {{"conditions", Json::array({{{"type", "NamesAccepted"}, {"status", "True"}},
                                        {{"type", "Established"}, {"status", "True"}}})}}}};
}

TEST(MonitoringKinds, AnEstablishedVersionIsServed) {
  EXPECT_TRUE(IsServed(Definition(), "v1"));
  EXPECT_FALSE(IsServed(Definition(), "v1alpha1"));
  EXPECT_FALSE(IsServed(Definition(), "v2"));
}

TEST(MonitoringKinds, ADefinitionThatComesOrGoesIsNot) {
  Json coming = Definition();
  coming["status"]["conditions"][1]["status"] = "False";
  EXPECT_FALSE(IsServed(coming, "v1"));
  coming.erase("status");
  EXPECT_FALSE(IsServed(coming, "v1"));
  Json going = Definition();
  going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_FALSE(IsServed(going, "v1"));
}

std::vector<std::string> ThatCantBe(const Json& spec, Served service_monitors) {
  const auto policy = policy::Parse({{"spec", spec}});
  CHECK(policy.has_value());
  Context context;
  context.policy = *policy;
  context.monitoring.service_monitors = service_monitors;
  return MonitorsThatCantBe(context);
}

TEST(MonitoringKinds, WhoAsksForAMonitorInVainIsTold) {
  using testing::ElementsAre;
  using testing::IsEmpty;
  const Json exporter = {
      {"enabled", true}, {"image", "i"}, {"serviceMonitor", {{"enabled", true}}}};
  const Json both = {{"operator", {{"metrics", {{"serviceMonitor", {{"interval", "5s"}}}}}}},
                     {"dcgmExporter", exporter}};
  EXPECT_THAT(ThatCantBe(both, Served::kNo),
              ElementsAre("operator.metrics.serviceMonitor", "dcgmExporter.serviceMonitor"));
  EXPECT_THAT(ThatCantBe(both, Served::kUnknown), IsEmpty());
  EXPECT_THAT(ThatCantBe(both, Served::kYes), IsEmpty());
  EXPECT_THAT(ThatCantBe(Json::object(), Served::kNo), IsEmpty());
  // What is switched off, or has nothing to be scraped.
  Json off = both;
  off["operator"]["metrics"]["serviceMonitor"]["enabled"] = false;
  off["dcgmExporter"]["enabled"] = false;
  EXPECT_THAT(ThatCantBe(off, Served::kNo), IsEmpty());
}

}  // namespace
}  // namespace gantry::gpu_operator
