// SPDX-License-Identifier: Apache-2.0

#include "operator/stalled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Stalled, AControllerThatMakesNoPodsIsAskedAgain) {
  const SteadyTime start;
  const auto at = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  const DaemonSetFacts whole = {.desired = 5, .current = 5};
  const DaemonSetFacts lacks = {.desired = 5, .current = 4};

  Stalled stalled = NextStalled({}, {{"plugin", whole}, {"toolkit", lacks}}, at(0));
  EXPECT_THAT(stalled.due, IsEmpty());
  EXPECT_EQ(stalled.next, at(305));
  stalled = NextStalled(stalled, {{"plugin", lacks}, {"toolkit", lacks}}, at(100));
  EXPECT_THAT(stalled.due, IsEmpty());
  EXPECT_EQ(stalled.next, at(305));
  stalled = NextStalled(stalled, {{"plugin", lacks}, {"toolkit", lacks}}, at(305));
  EXPECT_THAT(stalled.due, ElementsAre("toolkit"));
  EXPECT_EQ(stalled.next, at(405));
  // Asked once, and again when that did not help either.
  stalled = NextStalled(stalled, {{"plugin", whole}, {"toolkit", lacks}}, at(306));
  EXPECT_THAT(stalled.due, IsEmpty());
  EXPECT_EQ(stalled.next, at(610));
  EXPECT_THAT(NextStalled(stalled, {{"toolkit", lacks}}, at(610)).due, ElementsAre("toolkit"));
  // One that got its pods meanwhile begins anew.
  stalled = NextStalled(stalled, {{"toolkit", whole}}, at(609));
  EXPECT_EQ(stalled.next, std::nullopt);
  EXPECT_THAT(NextStalled(stalled, {{"toolkit", lacks}}, at(610)).due, IsEmpty());
}

}  // namespace
}  // namespace gantry::gpu_operator
