// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/pod_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::metrics_exporter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

gpu::PodLabels Of(const Json& labels, const std::vector<std::string>& expressions = {}) {
  return SeriesLabels({{"metadata", {{"labels", labels}}}}, *LabelFilter::Parse(expressions));
}

TEST(PodLabels, HaveNamesOfPrometheus) {
  EXPECT_THAT(
      Of({{"app.kubernetes.io/part-of", "a"}, {"1st", "b"}, {"team", ""}}),
      ElementsAre(Pair("_1st", "b"), Pair("app_kubernetes_io_part_of", "a"), Pair("team", "")));
  EXPECT_THAT(Of({{"a-b", "1"}, {"a.b", "2"}}), ElementsAre(Pair("a_b", "1")))
      << "the first in the order of keys";
  EXPECT_THAT(SeriesLabels(Json::object(), {}), IsEmpty());
}

TEST(PodLabels, AreThoseOfTheAllowList) {
  const Json labels = {{"app", "1"}, {"my-app", "2"}, {"team/name", "3"}};
  EXPECT_THAT(Of(labels, {"^app$"}), ElementsAre(Pair("app", "1")));
  EXPECT_THAT(Of(labels, {"app"}), ElementsAre(Pair("app", "1"), Pair("my_app", "2")));
  EXPECT_THAT(Of(labels, {"^team/", "^app$"}),
              ElementsAre(Pair("app", "1"), Pair("team_name", "3")));
}

TEST(PodLabels, NeverReplaceALabelOfTheSeries) {
  EXPECT_THAT(Of({{"gpu", "9"},
                  {"UUID", "x"},
                  {"pod", "x"},
                  {"GPU-I-ID", "7"},
                  {"err.code", "1"},
                  {"DCGM-FI-DRIVER-VERSION", "1"},
                  {"hpc-job", "1"},
                  {"--x", "1"}}),
              IsEmpty());
}

// Go's syntax, which is RE2's: flags in the expression, classes by name, no look-around.
TEST(PodLabels, ExpressionsAreThoseOfGo) {
  const Json labels = {{"App", "1"}, {"tier", "2"}, {"zone9", "3"}};
  EXPECT_THAT(Of(labels, {"(?i)^app$"}), ElementsAre(Pair("App", "1")));
  EXPECT_THAT(Of(labels, {"^[[:alpha:]]+\\d\\z"}), ElementsAre(Pair("zone9", "3")));
  EXPECT_FALSE(LabelFilter::Parse({"^(?!app)"}));
  EXPECT_FALSE(LabelFilter::Parse({"(a)\\1"}));
}

TEST(PodLabels, AMistakeNamesTheExpression) {
  EXPECT_THAT(LabelFilter::Parse({"a", "(b"}).error().message, HasSubstr("\"(b\""));
}

}  // namespace
}  // namespace gantry::metrics_exporter
