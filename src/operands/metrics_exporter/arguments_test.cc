// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace gantry::metrics_exporter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<std::optional<Arguments>> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "dcgm-exporter");
  return ParseArguments(static_cast<int>(words.size()), words.data());
}

TEST(Arguments, DefaultsAreDcgmExporters) {
  const auto parsed = Parse({});
  ASSERT_TRUE(parsed.has_value() && parsed->has_value());
  const Arguments& arguments = **parsed;
  EXPECT_EQ(arguments.address, ":9400");
  EXPECT_EQ(arguments.interval, std::chrono::seconds(30));
  EXPECT_EQ(arguments.windows.xids, std::chrono::minutes(5));
  EXPECT_FALSE(arguments.kubernetes);
  EXPECT_EQ(arguments.config_map, "");
  EXPECT_EQ(arguments.labelling.host, HostLabel::kCapital);
  EXPECT_THAT(arguments.no_effect, IsEmpty());
  EXPECT_THAT(arguments.not_yet, IsEmpty());
}

TEST(Arguments, FlagsHaveTheirShortFormsAndValues) {
  const auto parsed = Parse({"-f", "/c.csv", "-a", ":1", "-c", "1000", "-k", "-o", "-m", "ns:map",
                             "-x=5", "-rbmn", "--kubernetes-virtual-gpus=true",
                             "--nvidia-resource-names=a/b,c/d", "--hostname-label=both"});
  ASSERT_TRUE(parsed.has_value() && parsed->has_value()) << parsed.error().message;
  const Arguments& arguments = **parsed;
  EXPECT_EQ(arguments.collectors, "/c.csv");
  EXPECT_EQ(arguments.address, ":1");
  EXPECT_EQ(arguments.interval, std::chrono::seconds(1));
  EXPECT_TRUE(arguments.kubernetes);
  EXPECT_EQ(arguments.config_map, "ns:map");
  EXPECT_EQ(arguments.windows.xids, std::chrono::milliseconds(5));
  EXPECT_TRUE(arguments.labelling.old_names);
  EXPECT_TRUE(arguments.labelling.replace_blanks);
  EXPECT_TRUE(arguments.labelling.every_holder);
  EXPECT_EQ(arguments.labelling.host, HostLabel::kBoth);
  EXPECT_THAT(arguments.resource_names, ElementsAre("a/b", "c/d"));
}

TEST(Arguments, VariablesAreDcgmExporters) {
  setenv("DCGM_EXPORTER_LISTEN", ":9", 1);
  setenv("DCGM_EXPORTER_KUBERNETES", "true", 1);
  setenv("NODE_NAME", "n1", 1);
  setenv("DCGM_REMOTE_HOSTENGINE_INFO", "localhost:5555", 1);
  const auto parsed = Parse({});
  for (const char* name : {"DCGM_EXPORTER_LISTEN", "DCGM_EXPORTER_KUBERNETES", "NODE_NAME",
                           "DCGM_REMOTE_HOSTENGINE_INFO"}) {
    unsetenv(name);
  }
  ASSERT_TRUE(parsed.has_value() && parsed->has_value());
  EXPECT_EQ((*parsed)->address, ":9");
  EXPECT_TRUE((*parsed)->kubernetes);
  EXPECT_EQ((*parsed)->labelling.node, "n1");
  EXPECT_THAT((*parsed)->no_effect, ElementsAre("--remote-hostengine-info"));
}

TEST(Arguments, WhatHasNoEffectIsNamed) {
  const auto parsed = Parse({"-d", "g:0", "-s", "f", "--enable-pprof", "--fake-gpus=false"});
  ASSERT_TRUE(parsed.has_value() && parsed->has_value());
  EXPECT_THAT((*parsed)->no_effect, ElementsAre("--enable-pprof"));
  EXPECT_THAT((*parsed)->not_yet, ElementsAre("--devices"));
}

TEST(Arguments, MistakesNameTheFlag) {
  struct Row {
    std::vector<const char*> words;
    const char* message;
  };
  for (const Row& row :
       {Row{{"--collect-interval=0"}, "--collect-interval"}, Row{{"-k=maybe"}, "--kubernetes"},
        Row{{"-m", "map"}, "--configmap-data"}, Row{{"--hostname-label=HOST"}, "--hostname-label"},
        Row{{"--web-config-file=/x"}, "--web-config-file"}, Row{{"--nothing"}, "--nothing"}}) {
    const auto parsed = Parse(row.words);
    ASSERT_FALSE(parsed.has_value()) << row.message;
    EXPECT_THAT(parsed.error().message, HasSubstr(row.message));
  }
}

}  // namespace
}  // namespace gantry::metrics_exporter
