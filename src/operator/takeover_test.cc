// SPDX-License-Identifier: Apache-2.0

#include "operator/takeover.h"

#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

TEST(Takeover, WaitsUntilTheOtherIsGoneForGood) {
  const SteadyTime start;
  const auto at = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  ForeignNfd foreign = NextForeignNfd({}, false, at(0));
  EXPECT_FALSE(foreign.at_work);
  foreign = NextForeignNfd(foreign, true, at(1));
  EXPECT_TRUE(foreign.at_work);
  foreign = NextForeignNfd(foreign, false, at(100));
  EXPECT_TRUE(foreign.at_work);
  EXPECT_EQ(foreign.silent_since, at(100));
  foreign = NextForeignNfd(foreign, false, at(129));
  EXPECT_TRUE(foreign.at_work);
  // It was only upgraded.
  foreign = NextForeignNfd(foreign, true, at(129));
  foreign = NextForeignNfd(foreign, false, at(140));
  EXPECT_TRUE(NextForeignNfd(foreign, false, at(169)).at_work);
  foreign = NextForeignNfd(foreign, false, at(170));
  EXPECT_FALSE(foreign.at_work);
  EXPECT_FALSE(foreign.silent_since.has_value());
}

}  // namespace
}  // namespace gantry::gpu_operator
