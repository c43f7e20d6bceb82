// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/yaml_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::metrics_exporter {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(YamlConfig, VersionOne) {
  const auto config = ParseYamlConfig(R"(
version: 1
sources: {dcgm: {detectBindUnbind: {enabled: true, pollInterval: 250ms}}}
metrics: {file: /etc/counters.csv, enableExporterMetrics: true}
collection:
  interval: 30s
  watchGroups:
    - {name: fast, interval: 500ms, fields: [DCGM_FI_DEV_GPU_TEMP, DCGM_FI_DEV_POWER_*]}
)");
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->counters_file, "/etc/counters.csv");
  EXPECT_EQ(config->exporter_metrics, true);
  EXPECT_EQ(config->interval, std::chrono::seconds(30));
  ASSERT_EQ(config->groups.size(), 1U);
  EXPECT_EQ(config->groups[0].interval, milliseconds(500));
  EXPECT_THAT(config->groups[0].fields, ElementsAre("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_*"));
  EXPECT_THAT(config->no_effect, ElementsAre("sources"));
}

TEST(YamlConfig, VersionTwo) {
  const auto config = ParseYamlConfig(R"(
version: 2
server: {maxConcurrentScrapes: 4}
metrics:
  fields:
    - {name: DCGM_FI_DEV_GPU_TEMP, prometheusType: gauge, help: 'With "quotes", commas.'}
    - {name: DCGM_FI_DRIVER_VERSION, prometheusType: label, help: Driver.}
collections:
  - {name: slow, every: 5m, metrics: {include: [DCGM_FI_DRIVER_*]}}
  - {name: scrape, every: 45s, metrics: {include: ["*"]}}
)");
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->interval, std::chrono::seconds(45));
  ASSERT_EQ(config->groups.size(), 1U);
  EXPECT_EQ(config->groups[0].path, "collections[0]");
  const auto counters = ParseCounters(config->counters.value_or(""));
  ASSERT_TRUE(counters.has_value()) << counters.error().message;
  EXPECT_EQ(counters->metrics.at(0).help, "With \"quotes\", commas.");
  EXPECT_EQ(counters->labels.at(0).name, "DCGM_FI_DRIVER_VERSION");
  EXPECT_THAT(config->no_effect, ElementsAre("server"));
}

TEST(YamlConfig, MistakesNameTheKey) {
  struct Row {
    const char* text;
    const char* message;
  };
  for (const Row& row : {
           Row{"[]", "the file: not a map"},
           Row{"metrics: {file: x}", "version: not 1 or 2"},
           Row{"version: 3", "version: not 1 or 2"},
           Row{"version: 1\ncollections: []", "collections: unknown key in version 1"},
           Row{"version: 2\ncollection: {interval: 1s}", "collection: unknown key in version 2"},
           Row{"version: 2\nmetrics: {fiel: x}", "metrics.fiel: unknown key"},
           Row{"version: 2\nversion: 2", "version"},
           Row{"version: 2\nmetrics: {}", "metrics: neither file nor fields"},
           Row{"version: 2\nmetrics: {file: x, fields: [{name: a, prometheusType: b, help: c}]}",
               "metrics: file and fields are both given"},
           Row{"version: 2\nmetrics: {fields: [{name: a, prometheusType: gauge}]}",
               "metrics.fields[0].help: missing"},
           Row{"version: 1\ncollection: {interval: 30}", "collection.interval: \"30\" is no"},
           Row{"version: 1\ncollection: {interval: 0s}", "collection.interval"},
           Row{"version: 1\ncollection: {interval: 1500us}", "collection.interval"},
           Row{"version: 1\ncollection: {watchGroups: [{name: a, interval: 1s}]}",
               "collection.watchGroups[0].fields: not a list"},
           Row{"version: 2\ncollections: []", "collections: empty"},
           Row{"version: 2\ncollections: [{name: a, every: 1s, metrics: {include: ['*']}}, "
               "{name: b, every: 2s, metrics: {include: ['*']}}]",
               "collections[1].metrics.include: another collection has all fields"},
           Row{"version: 2\ncollections: [{name: a, every: 1s, metrics: {include: [x]}}, "
               "{name: a, every: 2s, metrics: {include: [y]}}]",
               "collections[1].name: a is given twice"},
       }) {
    const auto config = ParseYamlConfig(row.text);
    ASSERT_FALSE(config.has_value()) << row.text;
    EXPECT_THAT(config.error().message, HasSubstr(row.message)) << row.text;
  }
}

TEST(YamlConfig, AGroupMatchesCountersOfItsOwn) {
  const Counters counters = *ParseCounters(
      "DCGM_FI_DEV_GPU_TEMP, gauge, h\nDCGM_FI_DEV_POWER_USAGE, gauge, h\n"
      "DCGM_FI_DRIVER_VERSION, label, h\n");
  const auto check = [&counters](std::vector<std::string> first, std::vector<std::string> second) {
    const Status checked = CheckGroups({{.path = "a", .interval = {}, .fields = std::move(first)},
                                        {.path = "b", .interval = {}, .fields = std::move(second)}},
                                       counters);
    return checked ? "" : checked.error().message;
  };
  // By a new name of the field too.
  EXPECT_EQ(check({"DCGM_FI_DEV_BOARD_POWER_WATTS"}, {"DCGM_FI_DRIVER_*"}), "");
  EXPECT_EQ(check({"*_TEMP"}, {"DCGM_FI_DEV_*"}), "b: DCGM_FI_DEV_GPU_TEMP is in a too");
  EXPECT_EQ(check({"*_TEMP"}, {"X", "Y"}), "b: none of the counters is X, Y");
}

}  // namespace
}  // namespace gantry::metrics_exporter
