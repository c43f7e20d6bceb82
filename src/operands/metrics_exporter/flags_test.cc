// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry::metrics_exporter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<std::optional<Flags>> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "dcgm-exporter");
  return ParseFlags(static_cast<int>(words.size()), words.data());
}

TEST(Flags, DefaultsAreDcgmExporters) {
  const auto parsed = Parse({});
  ASSERT_TRUE(parsed.has_value() && parsed->has_value());
  const Flags& flags = **parsed;
  EXPECT_EQ(flags.address, ":9400");
  EXPECT_EQ(flags.interval, std::chrono::seconds(30));
  EXPECT_EQ(flags.windows.xids, std::chrono::minutes(5));
  EXPECT_FALSE(flags.kubernetes);
  EXPECT_EQ(flags.web.read_timeout, std::chrono::seconds(10));
  EXPECT_EQ(flags.web.write_timeout, std::chrono::seconds(30));
  EXPECT_EQ(flags.config_map, "");
  EXPECT_EQ(flags.labelling.host, HostLabel::kCapital);
  EXPECT_THAT(flags.no_effect, IsEmpty());
  EXPECT_THAT(flags.not_yet, IsEmpty());
}

TEST(Flags, FlagsHaveTheirShortFormsAndValues) {
  const auto parsed = Parse({"-f", "/c.csv", "-a", ":1", "-c", "1000", "-k", "-o", "-m", "ns:map",
                             "-x=5", "-rbmn", "--web-config-file=/w.yml",
                             "--web-read-timeout=1m30s", "--kubernetes-virtual-gpus=true",
                             "--nvidia-resource-names=a/b,c/d", "--hostname-label=both"});
  ASSERT_TRUE(parsed.has_value() && parsed->has_value()) << parsed.error().message;
  const Flags& flags = **parsed;
  EXPECT_EQ(flags.collectors, "/c.csv");
  EXPECT_EQ(flags.address, ":1");
  EXPECT_EQ(flags.interval, std::chrono::seconds(1));
  EXPECT_TRUE(flags.kubernetes);
  EXPECT_EQ(flags.web.web_config_file, "/w.yml");
  EXPECT_EQ(flags.web.read_timeout, std::chrono::seconds(90));
  EXPECT_EQ(flags.config_map, "ns:map");
  EXPECT_EQ(flags.windows.xids, std::chrono::milliseconds(5));
  EXPECT_TRUE(flags.labelling.old_names);
  EXPECT_TRUE(flags.labelling.replace_blanks);
  EXPECT_TRUE(flags.labelling.every_holder);
  EXPECT_EQ(flags.labelling.host, HostLabel::kBoth);
  EXPECT_THAT(flags.pods.resource_names, ElementsAre("a/b", "c/d"));
}

TEST(Flags, VariablesAreDcgmExporters) {
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

TEST(Flags, PodsLabelsClaimsAndJobs) {
  const auto parsed = Parse({"--kubernetes-enable-pod-uid", "--kubernetes-enable-pod-labels=true",
                             "--kubernetes-pod-label-allowlist-regex=^app$,^team/",
                             "--kubernetes-enable-dra", "--hpc-job-mapping-dir=/jobs"});
  ASSERT_TRUE(parsed.has_value() && parsed->has_value()) << parsed.error().message;
  const Flags& flags = **parsed;
  EXPECT_TRUE(flags.pods.uid_label);
  EXPECT_TRUE(flags.pod_labels);
  EXPECT_TRUE(flags.label_filter.Wants("team/name"));
  EXPECT_FALSE(flags.label_filter.Wants("my-app"));
  EXPECT_TRUE(flags.claims);
  EXPECT_EQ(flags.jobs_dir, "/jobs");
  EXPECT_THAT(flags.not_yet, IsEmpty());
}

TEST(Flags, WhatHasNoEffectIsNamed) {
  const auto parsed =
      Parse({"-d", "g:0", "-s", "g:1", "-p", "f", "--enable-pprof", "--fake-gpus=false"});
  ASSERT_TRUE(parsed.has_value() && parsed->has_value());
  EXPECT_THAT((*parsed)->no_effect, ElementsAre("--switch-devices", "--enable-pprof"));
  EXPECT_EQ((*parsed)->devices, *ParseDevices("g:0"));
}

TEST(Flags, WinOverAConfigurationFile) {
  const TempFolder folder;
  const std::string file = folder.path() + "/c.yaml";
  std::ofstream(file) << "version: 2\nmetrics: {file: /yaml.csv, enableExporterMetrics: true}\n"
                         "sources: {dcgm: {watch: {maxKeepAge: 1m}}}\n"
                         "collections: [{name: all, every: 20s, metrics: {include: ['*']}}, "
                         "{name: fast, every: 2s, metrics: {include: [DCGM_FI_DEV_GPU_TEMP]}}]\n";
  const auto alone = Parse({"--config-file", file.c_str()});
  ASSERT_TRUE(alone.has_value() && alone->has_value()) << alone.error().message;
  EXPECT_EQ((*alone)->collectors, "/yaml.csv");
  EXPECT_TRUE((*alone)->process_metrics);
  EXPECT_EQ((*alone)->interval, std::chrono::seconds(2));
  EXPECT_THAT((*alone)->no_effect, ElementsAre("sources of --config-file"));
  setenv("DCGM_EXPORTER_COLLECTORS", "/variable.csv", 1);
  const auto both = Parse({"--config-file", file.c_str(), "--collect-interval=1000",
                           "--enable-exporter-metrics=false"});
  unsetenv("DCGM_EXPORTER_COLLECTORS");
  ASSERT_TRUE(both.has_value() && both->has_value()) << both.error().message;
  EXPECT_EQ((*both)->collectors, "/variable.csv");
  EXPECT_FALSE((*both)->process_metrics);
  EXPECT_EQ((*both)->interval, std::chrono::seconds(1));
  std::ofstream(file) << "version: 2\nmetric: {}\n";
  EXPECT_THAT(Parse({"--config-file", file.c_str()}).error().message,
              AllOf(HasSubstr("--config-file"), HasSubstr("metric: unknown key")));
  EXPECT_THAT(Parse({"--config-file=/none.yaml"}).error().message, HasSubstr("/none.yaml"));
}

TEST(Flags, MistakesNameTheFlag) {
  struct Row {
    std::vector<const char*> words;
    const char* message;
  };
  for (const Row& row :
       {Row{{"--collect-interval=0"}, "--collect-interval"}, Row{{"-k=maybe"}, "--kubernetes"},
        Row{{"-m", "map"}, "--configmap-data"}, Row{{"--hostname-label=HOST"}, "--hostname-label"},
        Row{{"--web-systemd-socket"}, "--web-systemd-socket"},
        Row{{"--web-read-timeout=10"}, "--web-read-timeout"},
        Row{{"--web-write-timeout=x"}, "--web-write-timeout"}, Row{{"--devices=x:1"}, "--devices"},
        Row{{"--kubernetes-pod-label-allowlist-regex=a,(b"},
            "--kubernetes-pod-label-allowlist-regex: \"(b\""},
        Row{{"--nothing"}, "--nothing"}}) {
    const auto parsed = Parse(row.words);
    ASSERT_FALSE(parsed.has_value()) << row.message;
    EXPECT_THAT(parsed.error().message, HasSubstr(row.message));
  }
}

}  // namespace
}  // namespace gantry::metrics_exporter
