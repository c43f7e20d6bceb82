// SPDX-License-Identifier: Apache-2.0
#include "operands/dra_driver/json_members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::dra_driver {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(DraJsonMembers, AreTextsOfTheDocument) {
  const auto members = MembersOf(R"( {"a" : {"x":[1,{"y":"}"}]} , "b":"\"},", "c":-1.50e3,"d":[ ],
                                      "e":null} )");
  ASSERT_TRUE(members.has_value());
  EXPECT_THAT(*members, ElementsAre(Pair("a", R"({"x":[1,{"y":"}"}]})"), Pair("b", R"("\"},")"),
                                    Pair("c", "-1.50e3"), Pair("d", "[ ]"), Pair("e", "null")));
  EXPECT_TRUE(MembersOf("{}")->empty());
  EXPECT_THAT(*MembersOf(R"({"a":1,"a":2})"), ElementsAre(Pair("a", "2")));
}

TEST(DraJsonMembers, OnlyAnObjectHasThem) {
  for (const char* text : {"", "[]", "1", "{", R"({"a":})", R"({"a":1}})"}) {
    EXPECT_EQ(MembersOf(text).error().kind, ErrorKind::kInvalid) << text;
  }
}

TEST(DraJsonMembers, StringsAreWrittenAsGoDoes) {
  EXPECT_EQ(GoString("a\"b\\\n<>&\xE2\x80\xA8\xE2\x80\xA9\xC3\xA4"),
            "\"a\\\"b\\\\\\n\\u003c\\u003e\\u0026\\u2028\\u2029\xC3\xA4\"");
}

}  // namespace
}  // namespace gantry::dra_driver
