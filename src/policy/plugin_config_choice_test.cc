// SPDX-License-Identifier: Apache-2.0
#include "policy/plugin_config_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::policy {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kFiles = {"..data", "..2026_01_01", "any", "default"};

TEST(ConfigChoice, LabelThenDefault) {
  EXPECT_EQ(ChooseConfig({"any", "default", {}}, kFiles), "any");
  EXPECT_EQ(ChooseConfig({"", "any", {"named"}}, kFiles), "any");
}

TEST(ConfigChoice, AMissingFileIsNotReplacedByAnother) {
  const auto missing = ChooseConfig({"four", "default", {"named"}}, kFiles);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(missing.error().message,
              HasSubstr("\"four\": no such file, there are: any, default"));
  EXPECT_FALSE(ChooseConfig({"", "four", {"named"}}, kFiles).has_value());
}

TEST(ConfigChoice, FallbacksInTheirOrder) {
  EXPECT_EQ(ChooseConfig({"", "", {"named", "single"}}, kFiles), "default");
  EXPECT_EQ(ChooseConfig({"", "", {"single", "named"}}, kFiles), "default");
  EXPECT_EQ(ChooseConfig({"", "", {"named", "single"}}, {"..data", "only"}), "only");
  EXPECT_EQ(ChooseConfig({"", "", {"empty", "named"}}, kFiles), "");
}

TEST(ConfigChoice, NothingToChoose) {
  EXPECT_FALSE(ChooseConfig({"", "", {"named", "single"}}, {"a", "b"}).has_value());
  const auto none = ChooseConfig({"", "", {"single"}}, {"..data"});
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message, HasSubstr("there are: none"));
}

}  // namespace
}  // namespace gantry::policy
