// SPDX-License-Identifier: Apache-2.0
#include "operands/node_features/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::node_features {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

Result<std::optional<Flags>> Parsed(std::vector<const char*> words) {
  words.insert(words.begin(), "nfd-worker");
  return ParseFlags(static_cast<int>(words.size()), words.data());
}

TEST(Flags, TakesTheWorkersOwnFlagsWithOneDashOrTwo) {
  const auto flags = Parsed({"-config", "/etc/nfd/nfd-worker.conf", "-port", "8080",
                             "-owner-refs=pod,ds", "--oneshot", "-node-name=a"});
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  EXPECT_TRUE((*flags)->oneshot);
  EXPECT_EQ((*flags)->port, 8080);
  EXPECT_EQ((*flags)->node_name, "a");
  EXPECT_EQ((*flags)->host_prefix, "/host-");
  EXPECT_THAT((*flags)->config.labels.pci_fields, ElementsAre("vendor"));
  EXPECT_THAT((*flags)->config.labels.pci_classes,
              ElementsAre("02", "0200", "0207", "0300", "0302"));
}

TEST(Flags, TheLoggersFlagsAreAccepted) {
  const auto flags =
      Parsed({"-node-name=a", "-v=4", "-logtostderr", "-alsologtostderr=false", "-vmodule=a=1",
              "-stderrthreshold", "2", "-skip_headers=true", "-add_dir_header", "-v", "3",
              "-no-owner-refs=true", "-oneshot=true", "-no-publish=false"});
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  EXPECT_TRUE((*flags)->oneshot);
  EXPECT_FALSE((*flags)->no_publish);
}

TEST(Flags, Lists) {
  const auto flags =
      Parsed({"--node-name=a", "--pci-class=03,0b40", "--pci-label-fields=class,vendor"});
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  EXPECT_EQ((*flags)->port, 0);
  EXPECT_THAT((*flags)->config.labels.pci_classes, ElementsAre("03", "0b40"));
  EXPECT_THAT((*flags)->config.labels.pci_fields, ElementsAre("class", "vendor"));
}

TEST(Flags, FlagsWinOverTheConfiguration) {
  const auto flags = Parsed(
      {"-node-name=a", "-label-sources=pci,-usb",
       "-options={core: {labelSources: [cpu], noPublish: true, noPublishFeatures: []}, sources: "
       "{pci: {deviceClassWhitelist: [03, \"0b40\"]}, kernel: {kconfigFile: /c, configOpts: "
       "[X86]}, usb: {deviceLabelFields: [class]}, cpu: {cpuid: {attributeWhitelist: [AVX]}}}}"});
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  const WorkerConfig& config = (*flags)->config;
  EXPECT_THAT(config.labels.label_sources, ElementsAre("pci", "-usb"));
  EXPECT_TRUE((*flags)->no_publish);
  EXPECT_TRUE(config.labels.unpublished.empty());
  EXPECT_THAT(config.labels.pci_classes, ElementsAre("03", "0b40"));
  EXPECT_THAT(config.labels.kernel_options, ElementsAre("X86"));
  EXPECT_THAT(config.labels.usb_fields, ElementsAre("class"));
  EXPECT_THAT(config.labels.cpuid_allow, ElementsAre("AVX"));
  EXPECT_EQ(config.kernel_config, "/c");
}

TEST(Flags, TheNodeIsLookedAtAgainAfterAMinuteUnlessSaidOtherwise) {
  using std::chrono::seconds;
  const auto interval = [](const std::string& option, const std::string& flag = "") {
    const std::string options = "-options={core: {sleepInterval: " + option + "}}";
    const std::string given = flag.empty() ? "-oneshot" : "-sleep-interval=" + flag;
    return Parsed({"-node-name=a", options.c_str(), given.c_str()}).value()->config.sleep_interval;
  };
  EXPECT_EQ(Parsed({"-node-name=a"}).value()->config.sleep_interval, seconds(60));
  EXPECT_EQ(interval("null"), seconds(60));
  EXPECT_EQ(interval("5m"), seconds(300));
  EXPECT_EQ(interval("2000000000"), seconds(2));
  EXPECT_EQ(interval("10ms"), seconds(1));
  EXPECT_EQ(interval("0"), std::nullopt);
  EXPECT_EQ(interval("-1s"), std::nullopt);
  EXPECT_EQ(interval("5m", "90s"), seconds(90));
}

TEST(Flags, KeysWithoutEffectAreNamed) {
  const auto flags = Parsed(
      {"-node-name=a",
       "-options={core: {noPublsh: true, klog: {v: 4}, ownerRefs: [], LabelSources: [cpu, "
       "netwrk]}, "
       "source: {}, sources: {pci: {deviceLabelFields: [vendr]}, local: {hooksEnabled: true}, "
       "custom: [{name: all, labels: {a: b}, matchFeature: []}, {name: good, labels: {c: d}}]}}"});
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  const WorkerConfig& config = (*flags)->config;
  EXPECT_THAT(
      config.warnings,
      UnorderedElementsAre(
          "--options: core.noPublsh: unknown key, has no effect",
          "--options: source: unknown key, has no effect",
          "--options: sources.local: unknown key, has no effect",
          "--options: core.labelSources: \"netwrk\" is unknown, has no effect",
          "--options: sources.pci.deviceLabelFields: \"vendr\" is unknown, has no effect",
          "--options: sources.custom: rule all.matchFeature: unknown key; the rule is left out"));
  EXPECT_THAT(config.labels.label_sources, ElementsAre("cpu", "netwrk"));
  ASSERT_EQ(config.labels.rules.size(), 1U);
  EXPECT_EQ(config.labels.rules[0].name, "good");
  EXPECT_TRUE(Parsed({"-node-name=a", "-options={core: {noPublish: yes}}"}).value()->no_publish);
}

TEST(Flags, WrongOnesAreNamed) {
  EXPECT_THAT(Parsed({"--node-name=a", "-options", "core: {sleepInterval: often}"}).error().message,
              HasSubstr("core.sleepInterval: \"often\" is no duration"));
  EXPECT_THAT(Parsed({"--node-name=a", "-sleep-interval=often"}).error().message,
              HasSubstr("--sleep-interval: \"often\" is no duration"));
  EXPECT_THAT(Parsed({}).error().message, HasSubstr("NODE_NAME"));
  EXPECT_TRUE(Parsed({"--no-publish"}).has_value());
  EXPECT_THAT(Parsed({"--node-name=a", "--pci-label-fields=color"}).error().message,
              HasSubstr("pci-label-fields"));
  EXPECT_THAT(Parsed({"--node-name=a", "-options", "core: {labelSources: 3}"}).error().message,
              HasSubstr("--options: core.labelSources: must be a list"));
  EXPECT_THAT(Parsed({"--node-name=a", "-options", "core: {noPublish: 3}"}).error().message,
              HasSubstr("--options: core.noPublish: must be true or false"));
  EXPECT_THAT(Parsed({"--node-name=a", "-label-whitelist=("}).error().message,
              HasSubstr("no regular expression"));
  EXPECT_THAT(Parsed({"--node-name=a", "-metrics=x"}).error().message, HasSubstr("port"));
  EXPECT_THAT(Parsed({"--node-name=a", "--nonsense"}).error().message, HasSubstr("nonsense"));
}

}  // namespace
}  // namespace gantry::node_features
