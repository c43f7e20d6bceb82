// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(Histogram, CountsValuesUpToEachBound) {
  Histogram histogram = {0.5, 1, 10};
  for (const double value : {0.25, 0.5, 0.75, 11.0}) {
    histogram.Observe(value);
  }
  EXPECT_EQ(histogram.Text("x_seconds", "Time."),
            "# HELP x_seconds Time.\n"
            "# TYPE x_seconds histogram\n"
            "x_seconds_bucket{le=\"0.5\"} 2\n"
            "x_seconds_bucket{le=\"1\"} 3\n"
            "x_seconds_bucket{le=\"10\"} 3\n"
            "x_seconds_bucket{le=\"+Inf\"} 4\n"
            "x_seconds_sum 12.5\n"
            "x_seconds_count 4\n");
}

TEST(Histogram, ALabelStandsInEachLine) {
  EXPECT_EQ(Histogram({1}).Text("x", "H", R"(node="n")"),
            "# HELP x H\n"
            "# TYPE x histogram\n"
            "x_bucket{node=\"n\",le=\"1\"} 0\n"
            "x_bucket{node=\"n\",le=\"+Inf\"} 0\n"
            "x_sum{node=\"n\"} 0\n"
            "x_count{node=\"n\"} 0\n");
}

}  // namespace
}  // namespace gantry
