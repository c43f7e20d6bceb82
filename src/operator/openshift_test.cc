// SPDX-License-Identifier: Apache-2.0

#include "operator/openshift.h"

#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

TEST(OpenShift, IsOfTheLastVersionThatWasCompleted) {
  const auto of = [](const Json& history) {
    return VersionOf({{"status", {{"history", history}}}});
  };
  EXPECT_EQ(of({{{"state", "Partial"}, {"version", "4.14.1"}},
                {{"state", "Completed"}, {"version", "4.13.7"}},
                {{"state", "Completed"}, {"version", "4.12.0"}}}),
            "4.13");
  EXPECT_EQ(of(Json::array({{{"state", "Partial"}, {"version", "4.14.1"}}})), "");
  EXPECT_EQ(of(Json::array({{{"state", "Completed"}, {"version", "odd"}}})), "");
  EXPECT_EQ(VersionOf(Json::object()), "");
}

TEST(OpenShift, TheProxyIsAsItCounts) {
  const Json proxy = {
      {"spec",
       {{"httpProxy", "http://p"}, {"noProxy", "mine"}, {"trustedCA", {{"name", "bundle"}}}}},
      {"status", {{"httpProxy", "http://p"}, {"noProxy", "mine,.svc"}}}};
  EXPECT_EQ(ProxyOf(proxy), (ClusterProxy{"http://p", "", "mine,.svc", true}));
  EXPECT_EQ(ProxyOf({{"spec", {{"httpsProxy", "https://p"}}}}),
            (ClusterProxy{"", "https://p", "", false}));
  EXPECT_EQ(ProxyOf(Json()), ClusterProxy{});
}

TEST(OpenShift, TagsOfTheToolkitAreVersions) {
  const auto tag = [](const char* name, const char* image) {
    return Json{{"name", name}, {"from", {{"name", image}}}};
  };
  const auto of = [](const Json& tags) { return ToolkitOf({{"spec", {{"tags", tags}}}}); };
  EXPECT_EQ(of({tag("413.92", "i:1"), tag("latest", "i:1"), tag("414.92", "")}),
            (DriverToolkit{{{"413.92", "i:1"}}, false}));
  EXPECT_EQ(of({tag("413.92", "i:1"), tag("", "i:2")}), (DriverToolkit{{{"413.92", "i:1"}}, true}));
  EXPECT_EQ(ToolkitOf(Json::object()), DriverToolkit{});
}

}  // namespace
}  // namespace gantry::gpu_operator
