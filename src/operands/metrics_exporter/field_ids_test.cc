// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/field_ids.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gantry::metrics_exporter {
namespace {

TEST(FieldIds, AreDcgms) {
  struct Row {
    unsigned id;
    const char* name;
  };
  for (const Row& row :
       {Row{1, "DCGM_FI_SYSTEM_DRIVER_VERSION"}, Row{150, "DCGM_FI_DEV_GPU_TEMP_CELSIUS"},
        Row{155, "DCGM_FI_DEV_BOARD_POWER_WATTS"}, Row{252, "DCGM_FI_DEV_FB_USED"},
        Row{1001, "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"}}) {
    const auto field = FieldOfId(row.id);
    ASSERT_TRUE(field.has_value()) << row.id;
    EXPECT_EQ(field->name, row.name);
  }
  for (const unsigned none : {0U, 3U, 7U, 705U, 65535U, 65686U}) {
    EXPECT_FALSE(FieldOfId(none).has_value()) << none;
  }
}

TEST(FieldIds, EachFieldHasOne) {
  std::set<std::string> named;
  for (unsigned id = 0; id < 2000; ++id) {
    if (const auto field = FieldOfId(id)) {
      EXPECT_TRUE(named.insert(field->name).second) << field->name;
    }
  }
  for (const Field& field : AllFields()) {
    if (!field.name.starts_with("DCGM_EXP_")) {
      EXPECT_TRUE(named.contains(field.name)) << field.name;
    }
  }
}

}  // namespace
}  // namespace gantry::metrics_exporter
