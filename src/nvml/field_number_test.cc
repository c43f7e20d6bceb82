// SPDX-License-Identifier: Apache-2.0
#include "nvml/field_number.h"

#include <gtest/gtest.h>
#include <nvml.h>

namespace gantry::nvml {
namespace {

TEST(FieldNumber, FollowsTheDriver) {
  struct Case {
    const char* driver;
    unsigned slowdown, balancing, smoothing, last;
  };
  for (const Case& row :
       {Case{"535.261.03", 269, 273, 251, 268}, Case{"570.195.03", 269, 273, 251, 268},
        Case{"575.57.08", 251, 255, 256, 273}, Case{"580.65.06", 251, 255, 256, 273},
        Case{"580.82.07", 269, 273, 251, 268}, Case{"580.159.04", 269, 273, 251, 268},
        Case{"590.44.01", 269, 273, 251, 268}, Case{"", 251, 255, 256, 273},
        Case{"R580", 251, 255, 256, 273}, Case{"580", 251, 255, 256, 273}}) {
    SCOPED_TRACE(row.driver);
    EXPECT_EQ(FieldNumber(NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, row.driver),
              row.slowdown);
    EXPECT_EQ(FieldNumber(NVML_FI_DEV_POWER_SYNC_BALANCING_AF, row.driver), row.balancing);
    EXPECT_EQ(FieldNumber(NVML_FI_PWR_SMOOTHING_ENABLED, row.driver), row.smoothing);
    EXPECT_EQ(FieldNumber(NVML_FI_PWR_SMOOTHING_ADMIN_OVERRIDE_RAMP_DOWN_HYST_VAL, row.driver),
              row.last);
    EXPECT_EQ(FieldNumber(NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_15, row.driver), 250U);
    EXPECT_EQ(FieldNumber(274, row.driver), 274U);
  }
}

}  // namespace
}  // namespace gantry::nvml
