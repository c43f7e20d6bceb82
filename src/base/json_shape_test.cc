// SPDX-License-Identifier: Apache-2.0
#include "base/json_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr KnownKey kInner[] = {{"deep", Shape::kText}, {"free"}};
constexpr KnownKey kOuter[] = {{"someFlag", Shape::kFlag},
                               {"text", Shape::kText},
                               {"one", Shape::kMap, kInner},
                               {"many", Shape::kMaps, kInner}};

TEST(Conform, NamesTheKeysThatNobodyKnows) {
  Json json = {{"someflag", true},
               {"text", 5},
               {"wrong", {{"deep", 1}}},
               {"one", {{"DEEP", "a"}, {"dep", 1}, {"free", {{"anything", 1}}}}},
               {"many", {{{"deep", true}}, {{"free", nullptr}, {"more", 1}}}}};
  const auto unknown = Conform(json, kOuter);
  ASSERT_TRUE(unknown.has_value()) << unknown.error().message;
  EXPECT_THAT(*unknown, ElementsAre("many[1].more", "one.dep", "wrong"));
  EXPECT_EQ(json, Json({{"someFlag", true},
                        {"text", "5"},
                        {"one", {{"deep", "a"}, {"free", {{"anything", 1}}}}},
                        {"many", {{{"deep", "true"}}, Json::object()}}}));
  EXPECT_THAT(WithoutEffect({"a.b"}), ElementsAre("a.b: unknown key, has no effect"));
}

TEST(Conform, FlagsMayBeWordsOfYaml) {
  for (const auto& [word, flag] :
       {std::pair("yes", true), {"On", true}, {"TRUE", true}, {"no", false}, {"off", false}}) {
    Json json = {{"someFlag", word}};
    EXPECT_TRUE(Conform(json, kOuter).has_value());
    EXPECT_EQ(json["someFlag"], flag) << word;
  }
}

TEST(Conform, OtherShapesAreRefusedByTheirPath) {
  const auto refused = [](Json json) {
    const auto unknown = Conform(json, kOuter, "at");
    return unknown.has_value() ? "" : unknown.error().message;
  };
  EXPECT_EQ(refused({{"someFlag", "maybe"}}), "at.someFlag: must be true or false");
  EXPECT_EQ(refused({{"text", {1}}}), "at.text: must be a text");
  EXPECT_EQ(refused({{"one", 1}}), "at.one: must be a map");
  EXPECT_EQ(refused({{"many", {{"deep", 1}}}}), "at.many: must be a list");
  EXPECT_EQ(refused({{"many", {1}}}), "at.many[0]: must be a map");
  EXPECT_THAT(refused({{"text", "a"}, {"TEXT", "b"}}), HasSubstr("at.TEXT: occurs twice"));
  EXPECT_EQ(refused(Json::array()), "at: must be a map");
}

}  // namespace
}  // namespace gantry
