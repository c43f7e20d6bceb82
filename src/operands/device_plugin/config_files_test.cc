// SPDX-License-Identifier: Apache-2.0
#include "operands/device_plugin/config_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"

namespace gantry::device_plugin {
namespace {

using testing::HasSubstr;

class LoadConfigTest : public testing::Test {
 protected:
  LoadConfigTest() { flags_.config_dir = temporary_.path(); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(flags_.config_dir + "/" + name) << text;
  }
  const TempFolder temporary_;
  Flags flags_;
};

TEST_F(LoadConfigTest, ReadsTheOneThatIsMeant) {
  Write("a", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}");
  Write("b", "");
  const auto shared = LoadConfig(flags_, "a");
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->config.sharing.ReplicasOf("nvidia.com/gpu"), 4);
  EXPECT_EQ(shared->source, "'a'");
  EXPECT_EQ(LoadConfig(flags_, "b")->config.sharing.ReplicasOf("nvidia.com/gpu"), 1);
}

TEST_F(LoadConfigTest, AMistakeIsNamedWithItsConfigurationAndKey) {
  struct Case {
    const char* text;
    const char* named;
  };
  for (const auto& [text, named] :
       {Case{"sharing: {timeslicing: {}}", "sharing.timeslicing.resources: must name"},
        Case{"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 0}]}}",
             "sharing.timeSlicing.resources[0].replicas"},
        Case{"version: [v1\n", "YAML"}}) {
    Write("a", text);
    const auto loaded = LoadConfig(flags_, "a");
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, testing::AllOf(HasSubstr("'a'"), HasSubstr(named)));
  }
}

TEST_F(LoadConfigTest, ALabelThatNamesNothingIsNoDefault) {
  Write("a", "");
  flags_.default_config = "a";
  EXPECT_EQ(LoadConfig(flags_, std::nullopt)->source, "'a'");
  const auto loaded = LoadConfig(flags_, "b");
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("the node's label asks for 'b', there is a"));
}

TEST(LoadConfig, WithoutAnyTheConfigurationIsEmpty) {
  EXPECT_EQ(LoadConfig({}, std::nullopt)->source, "none");
  Flags file;
  file.config_file = "/dev/null";
  EXPECT_TRUE(LoadConfig(file, std::nullopt));
  EXPECT_EQ(ConfigPathToWatch(file), "/dev");
}

}  // namespace
}  // namespace gantry::device_plugin
