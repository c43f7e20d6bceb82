// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/paths.h"
#include "operands/metrics_exporter/convert.h"

namespace gantry::metrics_exporter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

std::vector<std::string> Names(const std::vector<Counter>& counters) {
  std::vector<std::string> names;
  for (const Counter& counter : counters) {
    names.push_back(counter.name);
  }
  return names;
}

TEST(Counters, RowsAreMetricsAndLabels) {
  const auto read = ParseCounters(
      "# a comment without commas\n"
      "\r\n"
      "DCGM_FI_DEV_SM_CLOCK , gauge ,SM clock (in MHz).\r\n"
      "DCGM_FI_DEV_GPU_TEMP, untyped,\"one, \"\"two\"\",\nthree\"\n"
      "DCGM_FI_DEV_POWER_VIOLATION, counter,\n"
      "DCGM_FI_DRIVER_VERSION, label, Driver");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_THAT(
      Names(read->metrics),
      ElementsAre("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_VIOLATION", "DCGM_FI_DEV_SM_CLOCK"));
  EXPECT_EQ(read->metrics[0].help, "one, \"two\",\nthree");
  EXPECT_EQ(read->metrics[0].type, Type::kUntyped);
  EXPECT_EQ(read->metrics[1].type, Type::kCounter);
  EXPECT_EQ(read->metrics[2].help, "SM clock (in MHz).");
  EXPECT_THAT(Names(read->labels), ElementsAre("DCGM_FI_DRIVER_VERSION"));
  EXPECT_THAT(read->warnings, IsEmpty());
}

TEST(Counters, ARowOfSixValuesHasASecondMetric) {
  const auto read = ParseCounters(
      "DCGM_FI_DEV_FB_USED, gauge, MiB, memory_used_bytes, Bytes, 1048576\n"
      "DCGM_FI_DEV_GPU_TEMP, gauge, C, temperature, Celsius,\n");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_THAT(Names(read->metrics), ElementsAre("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_GPU_TEMP",
                                                "memory_used_bytes", "temperature"));
  const Counter& used = read->metrics[2];
  EXPECT_EQ(used.help, "Bytes");
  // NVML has bytes: nothing is lost on the way.
  EXPECT_EQ(Convert(used.field, nvml::Value(1234567.0)), nvml::Value(1234567.0));
  EXPECT_EQ(Convert(read->metrics[0].field, nvml::Value(1234567.0)), nvml::Value(1.0));
  EXPECT_EQ(Convert(read->metrics[3].field, nvml::Value(50.0)), nvml::Value(50.0));
}

// deploy/counters/nvidia_gpu_names.csv serves what is served without a file, and six names more.
TEST(Counters, TheShippedFileAddsNamesToTheDefaults) {
  const auto shipped = ParseCounters(ReadFile("deploy/counters/nvidia_gpu_names.csv").value());
  ASSERT_TRUE(shipped.has_value()) << shipped.error().message;
  const std::vector<std::string> names = Names(shipped->metrics);
  const Counters defaults = *ParseCounters(DefaultCounters());
  EXPECT_THAT(names, IsSupersetOf(Names(defaults.metrics)));
  EXPECT_THAT(Names(shipped->labels), Names(defaults.labels));
  EXPECT_THAT(names,
              IsSupersetOf({"nvidia_gpu_utilization", "nvidia_gpu_memory_used_bytes",
                            "nvidia_gpu_memory_total_bytes", "nvidia_gpu_temperature_celsius",
                            "nvidia_gpu_ecc_errors_corrected_total",
                            "nvidia_nvlink_bandwidth_total_bytes"}));
}

TEST(Counters, MistakesNameTheLineAndTheValue) {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"\n# x\nDCGM_FI_DEV_GPU_TEMP, gauge\n", "line 3: 2 values instead of 3"},
      {"DCGM_FI_DEV_GPU_TEMP, gauge, a, b\n", "line 1: 4 values"},
      {"DCGM_FI_DEV_GPU_TEMP, histogram, h", "line 1: type \"histogram\" of DCGM_FI_DEV_GPU_TEMP"},
      {"a, gauge, h", "line 1: field \"a\" does not exist"},
      {"DCGM_FI_DEV_GPU_TMP, gauge, h", "perhaps DCGM_FI_DEV_GPU_TEMP"},
      {" # DCGM_FI_DEV_GPU_TEMP, gauge, h", "field \"# DCGM_FI_DEV_GPU_TEMP\" does not exist"},
      {"DCGM_FI_DEV_GPU_TEMP, gauge, say \"x\"", "line 1: value 3: a quote inside"},
      {"\nDCGM_FI_DEV_GPU_TEMP, gauge,\"open\n\n", "line 2: a quoted value has no end"},
      {"DCGM_FI_DEV_GPU_TEMP, gauge,\"a\"b", "follows the end of a quoted value"},
      {"DCGM_FI_DEV_GPU_TEMP, gauge, 70 \xc2\xb0\x43\nDCGM_FI_DEV_SM_CLOCK, gauge, \xff",
       "line 2: not UTF-8"},
      {"DCGM_FI_DEV_GPU_TEMP, gauge, \xc0\xaf", "line 1: not UTF-8"},
      {"DCGM_FI_DEV_GPU_TEMP, gauge, \xed\xa0\x80", "line 1: not UTF-8"},
      {"DCGM_FI_DEV_GPU_TEMP, gauge, \xe2\x82", "line 1: not UTF-8"},
      {"DCGM_FI_DEV_GPU_TEMP, gauge, a, b-c, d, 1", "line 1: alias \"b-c\": not a metric's name"},
      {"DCGM_FI_DEV_GPU_TEMP, gauge, a, b, c, x", "line 1: factor \"x\": not a number"},
      {"DCGM_FI_DEV_GPU_TEMP, gauge, a, b, c, 0", "line 1: factor \"0\": not a number"},
      {"DCGM_FI_DEV_XID_ERRORS, gauge, a, b, c, 2", "DCGM_FI_DEV_XID_ERRORS can't be multiplied"},
      {"DCGM_FI_DRIVER_VERSION, label, a, b, c, 1", "DCGM_FI_DRIVER_VERSION is a label"},
      {"DCGM_FI_DEV_GPU_TEMP, gauge, a, b, c,\nDCGM_FI_DEV_SM_CLOCK, gauge, a, b, c, 1",
       "alias b: another metric has this name"},
  };
  for (const Row& row : rows) {
    const auto read = ParseCounters(row.text);
    ASSERT_FALSE(read.has_value()) << row.text;
    EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(read.error().message, HasSubstr(row.message)) << row.text;
  }
}

TEST(Counters, WhatWouldBreakAScrapeIsLeftOutWithAWarning) {
  const auto read = ParseCounters(
      "DCGM_FI_DEV_BRAND, gauge, text as a number\n"
      "DCGM_FI_PROF_PCIE_TX_BYTES, gauge, first\n"
      "DCGM_FI_PROF_PCIE_TX_BYTES, counter, second\n"
      "DCGM_FI_DEV_GPU_TEMP, gauge, by its old name\n"
      "DCGM_FI_DEV_GPU_TEMP_CELSIUS, gauge, by its new one\n"
      "DCGM_FI_DEV_NVSWITCH_POWER_VDD, gauge, of a switch\n"
      "DCGM_EXP_XID_ERRORS_COUNT, label, no label\n");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_THAT(Names(read->metrics),
              ElementsAre("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_PROF_PCIE_TX_BYTES"));
  EXPECT_EQ(read->metrics[1].help, "first");
  EXPECT_THAT(read->warnings,
              ElementsAre(HasSubstr("line 1: DCGM_FI_DEV_BRAND is no number"),
                          HasSubstr("line 3: DCGM_FI_PROF_PCIE_TX_BYTES is in line 2 already"),
                          HasSubstr("line 5: DCGM_FI_DEV_GPU_TEMP_CELSIUS is in line 4"),
                          HasSubstr("line 6: DCGM_FI_DEV_NVSWITCH_POWER_VDD can't be had"),
                          HasSubstr("line 7: DCGM_EXP_XID_ERRORS_COUNT can't be a label")));
}

TEST(Counters, DefaultsAreThoseOfDcgmExporter) {
  const auto read = ParseCounters(DefaultCounters());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_THAT(read->warnings, IsEmpty());
  EXPECT_THAT(Names(read->labels), ElementsAre("DCGM_FI_DRIVER_VERSION"));
  EXPECT_EQ(read->metrics.size(), 25U);
  std::vector<std::string> counters;
  for (const Counter& counter : read->metrics) {
    EXPECT_FALSE(counter.help.empty()) << counter.name;
    if (counter.type == Type::kCounter) {
      counters.push_back(counter.name);
    }
  }
  EXPECT_THAT(counters,
              ElementsAre("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
                          "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
                          "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"));
}

}  // namespace
}  // namespace gantry::metrics_exporter
