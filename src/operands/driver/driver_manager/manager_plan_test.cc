// SPDX-License-Identifier: Apache-2.0
#include "operands/driver/driver_manager/manager_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PlanUninstallTest, AHostsDriverIsLeftAlone) {
  EXPECT_THAT(PlanUninstall({.host_driver = true, .loaded = true, .may_evict = true}).steps,
              ElementsAre(Step::kMarkPreInstalled));
}

TEST(PlanUninstallTest, WithoutADriverOnlyWhatIsLeftOverGoes) {
  EXPECT_THAT(PlanUninstall({.may_evict = true, .may_drain = true}).steps,
              ElementsAre(Step::kRemoveRoot, Step::kUncordon, Step::kResume));
  EXPECT_THAT(PlanUninstall({.nouveau = true}).steps,
              ElementsAre(Step::kRemoveRoot, Step::kUnloadNouveau, Step::kUncordon, Step::kResume));
}

TEST(PlanUninstallTest, TheSameDriverStaysLoadedAndNobodyIsEvicted) {
  ManagerFacts facts{.loaded = true, .same_digest = true, .may_evict = true, .may_drain = true};
  EXPECT_THAT(PlanUninstall(facts).steps,
              ElementsAre(Step::kPause, Step::kAwaitOperands, Step::kRemoveRoot, Step::kUncordon,
                          Step::kResume));
  EXPECT_FALSE(PlanUninstall(facts).drain_if_stuck);
  facts.force_reinstall = true;
  EXPECT_THAT(PlanUninstall(facts).steps,
              ElementsAre(Step::kPause, Step::kAwaitOperands, Step::kCordon, Step::kEvict,
                          Step::kUnload, Step::kRemoveRoot, Step::kUncordon, Step::kResume));
}

TEST(PlanUninstallTest, WhoEmptiesTheNodeIsTheOperatorWhereItUpgrades) {
  ManagerFacts facts{.loaded = true, .may_evict = true, .may_drain = true};
  EXPECT_TRUE(PlanUninstall(facts).drain_if_stuck);
  facts.operator_upgrades = true;
  EXPECT_FALSE(PlanUninstall(facts).drain_if_stuck);
  EXPECT_THAT(PlanUninstall(facts).steps,
              ElementsAre(Step::kPause, Step::kAwaitOperands, Step::kUnload, Step::kRemoveRoot,
                          Step::kUncordon, Step::kResume));
}

TEST(TakeBackTest, LeavesNothingPausedOrCordoned) {
  EXPECT_THAT(TakeBack({Step::kPause, Step::kAwaitOperands, Step::kCordon}),
              ElementsAre(Step::kUncordon, Step::kResume));
  EXPECT_THAT(TakeBack({Step::kPause}), ElementsAre(Step::kResume));
  EXPECT_THAT(TakeBack({Step::kPause, Step::kUnload}), ElementsAre(Step::kUncordon, Step::kResume))
      << "a drain was tried";
  EXPECT_THAT(TakeBack({}), IsEmpty());
}

}  // namespace
}  // namespace gantry::driver
