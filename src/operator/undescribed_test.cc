// SPDX-License-Identifier: Apache-2.0
#include "operator/undescribed.h"

#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

using std::chrono::seconds;
using Names = std::vector<std::string>;

const SteadyTime kStart = SteadyTime{} + seconds(1000);

TEST(Undescribed, ANodeIsAwaitedForAsLongAsAWorkerMayTakeToStart) {
  Undescribed now = NextUndescribed({}, {"fargate"}, false, kStart);
  EXPECT_EQ(now.awaited, Names{"fargate"});
  EXPECT_EQ(now.next, kStart + kDescribing);
  now = NextUndescribed(now, {"fargate", "new"}, false, kStart + seconds(59));
  EXPECT_EQ(now.awaited, (Names{"fargate", "new"}));
  EXPECT_EQ(now.next, kStart + kDescribing);
  now = NextUndescribed(now, {"fargate", "new"}, false, kStart + seconds(60));
  EXPECT_EQ(now.awaited, Names{"new"});
  now = NextUndescribed(now, {"fargate"}, false, kStart + seconds(61));
  EXPECT_TRUE(now.awaited.empty());
  EXPECT_EQ(now.next, std::nullopt);
}

TEST(Undescribed, ANodeThatWasDescribedMeanwhileIsANewOne) {
  Undescribed now = NextUndescribed({}, {"a"}, false, kStart);
  now = NextUndescribed(now, {}, false, kStart + seconds(90));
  EXPECT_EQ(NextUndescribed(now, {"a"}, true, kStart + seconds(91)).awaited, Names{"a"});
}

TEST(Undescribed, ARestartOfTheOperatorTakesNoReadyBack) {
  EXPECT_TRUE(NextUndescribed({}, {"fargate"}, true, kStart).awaited.empty());
  const Undescribed later = NextUndescribed(NextUndescribed({}, {"fargate"}, true, kStart),
                                            {"fargate", "new"}, true, kStart + seconds(5));
  EXPECT_EQ(later.awaited, Names{"new"});
}

}  // namespace
}  // namespace gantry::gpu_operator
