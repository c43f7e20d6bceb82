// SPDX-License-Identifier: Apache-2.0

#include "policy/mig_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace gantry::policy {
namespace {

using std::chrono::seconds;

TEST(MigHolders, AreReadAsTheyWereWritten) {
  const MigHolders holders = {.layout = "all-1g.10gb",
                              .pods = {"default/train"},
                              .processes = {"process 7 (a \"b\")"},
                              .withdrawn = true};
  EXPECT_EQ(ParseMigHolders(FormatMigHolders(holders)), holders);
}

TEST(MigHolders, WhatIsNotUnderstoodIsNone) {
  for (const char* text : {"", "x", "[]", "{}", R"({"pods": ["a/b"]})", R"({"layout": 5})"}) {
    EXPECT_EQ(ParseMigHolders(text), std::nullopt) << text;
  }
}

MigHoldersStep AStep() {
  return {.layout = "all-1g.10gb",
          .spec = {HolderAction::kEvict, {true, true, seconds(60)}},
          .held_since = WallTime(seconds(1'700'000'000)),
          .since = WallTime(seconds(1'700'000'100)),
          .given_up = true,
          .deadline = WallTime(seconds(1'700'000'160)),
          .refused = "a budget",
          .message = "all of it"};
}

TEST(MigHoldersStep, IsReadAsItWasWritten) {
  EXPECT_EQ(ParseMigHoldersStep(FormatMigHoldersStep(AStep())), AStep());
  MigHoldersStep step = AStep();
  step.deadline.reset();
  step.refused.clear();
  EXPECT_EQ(ParseMigHoldersStep(FormatMigHoldersStep(step)), step);
}

TEST(MigHoldersStep, TheChangeWaitsUnlessItFailsAtOnceOrIsGivenUp) {
  MigHoldersStep step = AStep();
  EXPECT_FALSE(step.waits());
  step.given_up = false;
  EXPECT_TRUE(step.waits());
  step.spec.action = HolderAction::kFail;
  EXPECT_FALSE(step.waits());
}

TEST(MigHoldersStep, WhatIsNotUnderstoodIsNone) {
  Json without_time = Json::parse(FormatMigHoldersStep(AStep()));
  without_time["since"] = -1;
  Json of_another_release = Json::parse(FormatMigHoldersStep(AStep()));
  of_another_release["action"] = "drain";
  for (const std::string& text : {std::string(), std::string("x"), std::string("{}"),
                                  without_time.dump(), of_another_release.dump()}) {
    EXPECT_EQ(ParseMigHoldersStep(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace gantry::policy
