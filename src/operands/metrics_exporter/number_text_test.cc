// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/number_text.h"

#include <gtest/gtest.h>

namespace gantry::metrics_exporter {
namespace {

TEST(NumberText, ShortestIsGos) {
  struct Row {
    double number;
    const char* text;
  };
  // strconv.FormatFloat(x, 'g', -1, 64).
  const Row rows[] = {
      {0, "0"},
      {1, "1"},
      {-3, "-3"},
      {40.979, "40.979"},
      {0.1, "0.1"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {123456, "123456"},
      {999999, "999999"},
      {1000000, "1e+06"},
      {455497156, "4.55497156e+08"},
      {1.5151e10, "1.5151e+10"},
      {1.25e-300, "1.25e-300"},
      {18446744073709551615.0, "1.8446744073709552e+19"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(NumberText(row.number, NumberForm::kShortest, false), row.text);
  }
}

TEST(NumberText, FixedIsCs) {
  EXPECT_EQ(NumberText(40.979, NumberForm::kFixed, false), "40.979000");
  EXPECT_EQ(NumberText(455497156, NumberForm::kFixed, true), "455497156");
  EXPECT_EQ(NumberText(0, NumberForm::kFixed, true), "0");
}

}  // namespace
}  // namespace gantry::metrics_exporter
