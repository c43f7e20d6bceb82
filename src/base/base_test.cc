// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cerrno>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

namespace gantry {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) {
    return Fail(ErrorKind::kInvalid, "halve number: odd");
  }
  return n / 2;
}

Result<int> Quarter(int n) {
  TRY_ASSIGN(const int half, Half(n));
  TRY(Half(half));
  return half / 2;
}

TEST(Error, TryReturnsTheFirstError) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(3).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(Quarter(6).error().In("quarter 6").message, "quarter 6: halve number: odd");
}

TEST(Error, ErrnoHasOneMapping) {
  EXPECT_EQ(FailErrno("open /x", ENOENT).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(FailErrno("open /x", EACCES).error().kind, ErrorKind::kDenied);
  EXPECT_EQ(FailErrno("open /x", EIO).error().kind, ErrorKind::kInternal);
}

TEST(Text, SplitKeepsEmptyPartsButNotAnEmptyText) {
  EXPECT_THAT(Split("", ','), testing::IsEmpty());
  EXPECT_THAT(Split("a,,b", ','), testing::ElementsAre("a", "", "b"));
  EXPECT_EQ(Join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(Trim("  a b\n"), "a b");
  EXPECT_EQ(Lower("GPU-Ab"), "gpu-ab");
}

TEST(Text, CutLeavesCharactersWhole) {
  EXPECT_EQ(Cut("abc", 3), "abc");
  EXPECT_EQ(Cut("abcd", 3), "abc");
  EXPECT_EQ(Cut("a\xc3\xa4"
                "b",
                2),
            "a");
  EXPECT_EQ(Cut("a\xc3\xa4"
                "b",
                3),
            "a\xc3\xa4");
  EXPECT_EQ(Cut("\xe2\x80\x98", 2), "");
}

TEST(Text, BoolsAndNumbersNameWhatIsWrong) {
  EXPECT_TRUE(ParseBool("T").value());
  EXPECT_FALSE(ParseBool("0").value());
  EXPECT_THAT(ParseBool("yes").error().message, testing::HasSubstr("\"yes\""));
  EXPECT_EQ(ParseInt("-12").value(), -12);
  EXPECT_FALSE(ParseInt("12s").has_value());
}

TEST(Json, NothingFollowsBehindANul) {
  const auto cut = ParseJson(std::string_view("0\0garbage", 9));
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().message, "parse json: a NUL at byte 1");
}

TEST(Json, PathsReachNestedKeys) {
  const Json json = ParseJson(R"({"spec":{"driver":{"enabled":false,"n":3}}})").value();
  EXPECT_FALSE(BoolAt(json, "spec.driver.enabled", true));
  EXPECT_EQ(IntAt(json, "spec.driver.n", 0), 3);
  EXPECT_EQ(TextAt(json, "spec.driver.version", "none"), "none");
  EXPECT_EQ(At(json, "spec.driver.enabled.deeper"), nullptr);
  EXPECT_FALSE(ParseJson("{").has_value());
}

TEST(Json, AListThatIsNotThereIsEmpty) {
  const Json json = ParseJson(R"({"spec":{"nodes":["a","b"],"name":"c"}})").value();
  EXPECT_EQ(ListAt(json, "spec.nodes").size(), 2);
  EXPECT_TRUE(ListAt(json, "spec.name").empty());
  EXPECT_TRUE(ListAt(json, "status.nodes").empty());
}

TEST(Clock, TimesAreWrittenAsTheApiWritesThem) {
  EXPECT_EQ(Rfc3339(WallTime{}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Rfc3339Micro(WallTime{} + std::chrono::microseconds(1500001)),
            "1970-01-01T00:00:01.500001Z");
}

TEST(Log, LevelsAreParsed) {
  EXPECT_EQ(log::ParseLevel("info").value(), log::Level::kInfo);
  EXPECT_EQ(log::ParseLevel("INFO").value(), log::Level::kInfo);
  EXPECT_FALSE(log::ParseLevel("loud").has_value());
}

}  // namespace
}  // namespace gantry
