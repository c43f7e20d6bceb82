// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nvml.h>

#include <set>

namespace gantry::metrics_exporter {
namespace {

using nvml::Reading;
using nvml::Source;

TEST(Fields, AreFoundByEveryNameTheyHaveHad) {
  struct Row {
    const char* name;
    const char* newest;
    Reading reading;
  };
  const Row rows[] = {
      {"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", {Source::kTemperature}},
      {"DCGM_FI_DEV_GPU_TEMP_CELSIUS", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", {Source::kTemperature}},
      {"dcgm_gpu_temp", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", {Source::kTemperature}},
      {"DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_SM_CLOCK", {Source::kClock, NVML_CLOCK_SM}},
      {"DCGM_FI_DEV_ECC_DBE_AGG_REG",
       "DCGM_FI_DEV_ECC_DBE_AGG_REG",
       {Source::kMemoryErrors, NVML_MEMORY_LOCATION_REGISTER_FILE, nvml::kAggregateDouble}},
      {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L12",
       "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_L12_TOTAL",
       {Source::kNvLinkErrors, NVML_NVLINK_ERROR_DL_REPLAY, 12}},
      {"DCGM_FI_DEV_NVLINK_TX_BANDWIDTH_L3",
       "DCGM_FI_DEV_NVLINK_TX_THROUGHPUT_L3",
       {Source::kFieldValue, kSent, 3}},
      {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
       "DCGM_FI_PROF_TENSOR_UTIL_RATIO",
       {Source::kFieldValue, NVML_GPM_METRIC_ANY_TENSOR_UTIL}},
      {"dcgm_fi_prof_gr_engine_active",
       "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO",
       {Source::kFieldValue, NVML_GPM_METRIC_GRAPHICS_UTIL}},
      {"DCGM_FI_PROF_NVLINK_L2_TX_BYTES",
       "DCGM_FI_PROF_NVLINK_L2_TX_BYTES",
       {Source::kFieldValue, NVML_GPM_METRIC_NVLINK_L2_TX_PER_SEC}},
      {"DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR", {}},
      {"DCGM_EXP_XID_ERRORS_COUNT", "DCGM_EXP_XID_ERRORS_COUNT", {}},
  };
  for (const Row& row : rows) {
    const auto field = FindField(row.name);
    ASSERT_TRUE(field.has_value()) << row.name;
    EXPECT_EQ(field->name, row.newest);
    if (field->from == From::kNvml || field->from == From::kGpm || field->from == From::kLinkRate) {
      EXPECT_EQ(field->reading, row.reading) << row.name;
    }
  }
}

TEST(Fields, WhatThereIsNot) {
  for (const char* name :
       {"", "DCGM_FI_", "DCGM_FI_DEV_GPU_POWER_USAGE", "DCGM_FI_DEV_NVLINK_BANDWIDTH_L18",
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_L{}", "GPU_TEMP", "DCGM_EXP_NOTHING", "DEV_GPU_TEMP"}) {
    EXPECT_FALSE(FindField(name).has_value()) << name;
    EXPECT_FALSE(IsDcgmOnly(name)) << name;
  }
}

TEST(Fields, WhatOnlyDcgmHasIsKnownByName) {
  for (const char* name : {"DCGM_FI_DEV_NVSWITCH_POWER_VDD", "DCGM_FI_DEV_CPU_UTIL_TOTAL",
                           "DCGM_FI_DEV_VGPU_UTILIZATIONS", "DCGM_FI_IMEX_DOMAIN_STATUS"}) {
    EXPECT_TRUE(IsDcgmOnly(name)) << name;
  }
  EXPECT_FALSE(IsDcgmOnly("DCGM_FI_DEV_VGPU_LICENSE_STATUS")) << "NVML has this one";
}

TEST(Fields, NamesAreUnique) {
  std::set<std::string> names;
  for (const Field& field : AllFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    if (!field.other.empty()) {
      EXPECT_TRUE(names.insert(field.other).second) << field.other;
    }
    const auto found = FindField(field.name);
    ASSERT_TRUE(found.has_value()) << field.name;
    EXPECT_EQ(found->other, field.other);
    EXPECT_EQ(found->reading, field.reading) << field.name;
  }
  EXPECT_GT(names.size(), 700U);
}

TEST(Fields, TheNearestNameIsNamed) {
  EXPECT_EQ(NearestName("DCGM_FI_DEV_GPU_TEMPERATURE"), "DCGM_FI_DEV_GPU_TEMP");
  EXPECT_EQ(NearestName("DCGM_FI_DEV_SM_CLOK"), "DCGM_FI_DEV_SM_CLOCK");
  EXPECT_EQ(NearestName("something"), "");
  EXPECT_EQ(NearestName(std::string(1 << 20, 'x')), "");
}

}  // namespace
}  // namespace gantry::metrics_exporter
