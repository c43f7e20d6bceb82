// SPDX-License-Identifier: Apache-2.0
#include "operands/driver/cache_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace gantry::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

TEST(CacheKeyTest, IsOfAllThatDecides) {
  const CacheInput base = {.kernel_release = "6.1.0-50-amd64",
                           .version = "535.247.01",
                           .open = true,
                           .sources = "s",
                           .headers = "h",
                           .compiler = "gcc 12"};
  EXPECT_THAT(CacheKey(base), MatchesRegex("6\\.1\\.0-50-amd64_535\\.247\\.01_open_[0-9a-f]{16}"));
  std::set<std::string> keys = {CacheKey(base)};
  EXPECT_EQ(keys.count(CacheKey(base)), 1U);
  const auto differs = [&](auto change) {
    CacheInput other = base;
    change(other);
    return keys.insert(CacheKey(other)).second;
  };
  EXPECT_TRUE(differs([](CacheInput& c) { c.kernel_release = "6.1.0-51-amd64"; }));
  EXPECT_TRUE(differs([](CacheInput& c) { c.version = "550.54.15"; }));
  EXPECT_TRUE(differs([](CacheInput& c) { c.open = false; }));
  EXPECT_TRUE(differs([](CacheInput& c) { c.sources = "t"; }));
  EXPECT_TRUE(differs([](CacheInput& c) { c.headers = "i"; }));
  EXPECT_TRUE(differs([](CacheInput& c) { c.compiler = "gcc 13"; }));
  EXPECT_TRUE(differs([](CacheInput& c) {
    c.sources = "sh";
    c.headers = "";
  }));
}

TEST(OutdatedTest, IsWhatWasInterruptedAndTheOldestOfOtherKernels) {
  const std::vector<std::string> entries = {"5.10_1_open_a", ".unfinished-6.1_1_open_c",
                                            "6.1_1_open_b", "5.11_1_open_d", "6.1_2_open_e"};
  EXPECT_THAT(Outdated(entries, "6.1", 4), ElementsAre(".unfinished-6.1_1_open_c"));
  EXPECT_THAT(Outdated(entries, "6.1", 3),
              ElementsAre(".unfinished-6.1_1_open_c", "5.10_1_open_a"));
  EXPECT_THAT(Outdated(entries, "6.1", 0),
              ElementsAre(".unfinished-6.1_1_open_c", "5.10_1_open_a", "5.11_1_open_d"));
  EXPECT_THAT(Outdated({}, "6.1", 0), IsEmpty());
}

}  // namespace
}  // namespace gantry::driver
