// SPDX-License-Identifier: Apache-2.0
#include "operands/device_plugin/config_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "operands/device_plugin/config_files.h"

namespace gantry::device_plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kNames = {"a", "b", "default"};

TEST(ChooseConfig, LabelThenDefaultThenFallbacks) {
  EXPECT_EQ(ChooseConfig({"b", "a", {"named"}}, kNames), "b");
  EXPECT_EQ(ChooseConfig({std::nullopt, "a", {"named"}}, kNames), "a");
  EXPECT_EQ(ChooseConfig({"", "a", {}}, kNames), "a") << "an empty label names nothing";
  EXPECT_EQ(ChooseConfig({std::nullopt, "", {"named", "single"}}, kNames), "default");
  EXPECT_EQ(ChooseConfig({std::nullopt, "", {"named", "single"}}, {"only"}), "only");
  EXPECT_EQ(ChooseConfig({std::nullopt, "", {"single", "empty"}}, {"a", "b"}), "");
  EXPECT_EQ(ChooseConfig({std::nullopt, "", {}}, kNames), "");
}

TEST(ChooseConfig, WhatIsNotThereIsNamed) {
  const auto by_label = ChooseConfig({"c", "a", {"named"}}, kNames);
  ASSERT_FALSE(by_label);
  EXPECT_EQ(by_label.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(by_label.error().message, HasSubstr("the node's label asks for 'c', there is a, b"));
  const auto by_default = ChooseConfig({std::nullopt, "c", {"named"}}, {});
  ASSERT_FALSE(by_default);
  EXPECT_THAT(by_default.error().message, HasSubstr("DEFAULT_CONFIG asks for 'c', there is none"));
  const auto fallback = ChooseConfig({std::nullopt, "", {"nearest"}}, kNames);
  ASSERT_FALSE(fallback);
  EXPECT_EQ(fallback.error().kind, ErrorKind::kInvalid);
}

TEST(ConfigNames, LeavesOutWhatTheVolumeKeepsForItself) {
  EXPECT_THAT(ConfigNames({"..2026_01", "..data", ".hidden", "a"}), ElementsAre(".hidden", "a"));
}

class LoadConfigTest : public testing::Test {
 protected:
  LoadConfigTest() {
    std::string pattern = "/tmp/gantry-config-XXXXXX";
    arguments_.config_dir = mkdtemp(pattern.data());
  }
  ~LoadConfigTest() override { std::filesystem::remove_all(arguments_.config_dir); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(arguments_.config_dir + "/" + name) << text;
  }
  Arguments arguments_;
};

TEST_F(LoadConfigTest, ReadsTheOneThatIsMeant) {
  Write("a", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}");
  Write("b", "");
  const auto shared = LoadConfig(arguments_, "a");
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->config.sharing.ReplicasOf("nvidia.com/gpu"), 4);
  EXPECT_EQ(shared->source, "'a'");
  EXPECT_EQ(LoadConfig(arguments_, "b")->config.sharing.ReplicasOf("nvidia.com/gpu"), 1);
}

TEST_F(LoadConfigTest, AMistakeIsNamedWithItsConfigurationAndKey) {
  struct Case {
    const char* text;
    const char* named;
  };
  for (const auto& [text, named] :
       {Case{"sharing: {timeslicing: {}}", "sharing.timeslicing: unknown key"},
        Case{"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 0}]}}",
             "sharing.timeSlicing.resources[0].replicas"},
        Case{"version: [v1\n", "YAML"}}) {
    Write("a", text);
    const auto loaded = LoadConfig(arguments_, "a");
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, testing::AllOf(HasSubstr("'a'"), HasSubstr(named)));
  }
}

TEST(LoadConfig, WithoutAnyTheConfigurationIsEmpty) {
  EXPECT_EQ(LoadConfig({}, std::nullopt)->source, "none");
  Arguments file;
  file.config_file = "/dev/null";
  EXPECT_TRUE(LoadConfig(file, std::nullopt));
  EXPECT_EQ(ConfigPathToWatch(file), "/dev");
}

}  // namespace
}  // namespace gantry::device_plugin
