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
              HasSubstr("the node's label asks for 'four', there is any, default"));
  const auto by_default = ChooseConfig({"", "four", {"named"}}, {"..data"});
  ASSERT_FALSE(by_default.has_value());
  EXPECT_THAT(by_default.error().message,
              HasSubstr("DEFAULT_CONFIG asks for 'four', there is none"));
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
  EXPECT_THAT(none.error().message, HasSubstr("there is none"));
}

TEST(ConfigChoice, AFallbackThatNobodyKnowsIsAnError) {
  const auto chosen = ChooseConfig({"", "", {"single", "nearest"}}, {"a", "b"});
  ASSERT_FALSE(chosen.has_value());
  EXPECT_THAT(chosen.error().message, HasSubstr("'nearest'"));
}

}  // namespace
}  // namespace gantry::policy
