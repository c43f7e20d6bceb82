// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/convert.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gantry::metrics_exporter {
namespace {

std::optional<double> Of(const char* name, nvml::Answer answer) {
  const auto value = Convert(*FindField(name), answer);
  return value ? std::optional(std::get<double>(*value)) : std::nullopt;
}

TEST(Convert, UnitsAreDcgms) {
  struct Row {
    const char* field;
    double nvml;
    double dcgm;
  };
  const Row rows[] = {
      {"DCGM_FI_DEV_SM_CLOCK", 1410, 1410},
      {"DCGM_FI_DEV_SM_CLOCK_HERTZ", 1410, 1.41e9},
      {"DCGM_FI_DEV_POWER_USAGE", 40979, 40.979},
      {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 5e9, 5e9},
      {"DCGM_FI_DEV_FB_USED", 1.5 * 1048576, 1},
      {"DCGM_FI_DEV_FB_USED_PERCENT", 0.25, 0.25},
      {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", 50, 0.5},
      {"DCGM_FI_PROF_PCIE_TX_BYTES", 1.5, 1572864},
      {"DCGM_FI_DEV_GPU_TEMP", 200, 200},
      {"DCGM_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER_FLOAT", 0x30f, 3e-15},
  };
  for (const Row& row : rows) {
    const auto value = Of(row.field, nvml::Value(row.nvml));
    ASSERT_TRUE(value.has_value()) << row.field;
    EXPECT_DOUBLE_EQ(*value, row.dcgm) << row.field;
  }
}

TEST(Convert, WhatIsNotKnownIsNotPrinted) {
  EXPECT_EQ(Of("DCGM_FI_DEV_GPU_TEMP", nvml::Value(201.0)), std::nullopt);
  EXPECT_EQ(Of("DCGM_FI_DEV_MEMORY_TEMP", nvml::Value(255.0)), std::nullopt);
  EXPECT_EQ(Of("DCGM_FI_PROF_GR_ENGINE_ACTIVE", nvml::Value(std::nan(""))), std::nullopt);
  EXPECT_EQ(Of("DCGM_FI_DEV_GPU_UTIL", nvml::Value(std::string("N/A"))), std::nullopt);
  for (const ErrorKind kind :
       {ErrorKind::kUnsupported, ErrorKind::kUnavailable, ErrorKind::kDenied}) {
    EXPECT_EQ(Of("DCGM_FI_DEV_GPU_UTIL", std::unexpected(kind)), std::nullopt);
  }
}

TEST(Convert, AMemoryWithoutASensorHas0AsInDcgm) {
  EXPECT_EQ(Of("DCGM_FI_DEV_MEMORY_TEMP", std::unexpected(ErrorKind::kUnsupported)), 0);
  EXPECT_EQ(Of("DCGM_FI_DEV_MEMORY_TEMP", std::unexpected(ErrorKind::kUnavailable)), std::nullopt);
}

TEST(LinkRate, IsAWholeNumberOfThousandKibPerSecond) {
  const std::chrono::steady_clock::time_point start{};
  const LinkCounter first{.kib = 1000, .at = start};
  EXPECT_EQ(LinkRate(std::nullopt, first), std::nullopt);
  const LinkCounter second{.kib = 1000 + 4'999'000, .at = start + std::chrono::seconds(2)};
  EXPECT_EQ(LinkRate(first, second), nvml::Value(2499.0));
  EXPECT_EQ(LinkRate(second, {.kib = 5, .at = start + std::chrono::seconds(3)}), std::nullopt)
      << "the driver was loaded anew";
  EXPECT_EQ(LinkRate(first, {.kib = 2000, .at = start}), std::nullopt);
  EXPECT_EQ(LinkRate(first, {.kib = 1000, .at = start + std::chrono::seconds(1)}),
            nvml::Value(0.0));
}

TEST(Frozen, IsIdleByGpmAloneWhileInUse) {
  const nvml::Answer none = std::unexpected(ErrorKind::kUnsupported);
  const auto number = [](double value) { return nvml::Answer(nvml::Value(value)); };
  EXPECT_TRUE(IsFrozen(number(0), number(91)));
  EXPECT_FALSE(IsFrozen(number(0), number(90)));
  EXPECT_FALSE(IsFrozen(number(0.5), number(100)));
  EXPECT_FALSE(IsFrozen(none, number(100)));
  EXPECT_FALSE(IsFrozen(number(0), none));
}

}  // namespace
}  // namespace gantry::metrics_exporter
