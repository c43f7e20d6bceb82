// SPDX-License-Identifier: Apache-2.0
#include "gpu/owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::gpu {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Owners kTwo = {
    {"GPU-0", {.program = "nvidia-mig-manager", .reason = "all-1g.10gb", .exclusive = true}},
    {"GPU-1", {.program = "another", .reason = "a claim"}}};

TEST(Owners, TheFileSaysWhoHasWhichGpu) {
  const auto read = ParseOwners(OwnersText(kTwo, "boot"), "boot");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, kTwo);
  EXPECT_EQ(OwnedBy(*read, "another").size(), 1U);
  EXPECT_TRUE(OwnedBy(*read, "nvidia-device-plugin").empty());
  EXPECT_TRUE(AnyExclusive(*read));
  EXPECT_FALSE(AnyExclusive({{"GPU-1", kTwo.at("GPU-1")}}));
}

TEST(Owners, NobodyOfAnEarlierBootHasAGpu) {
  EXPECT_THAT(*ParseOwners(OwnersText(kTwo, "yesterday"), "boot"), IsEmpty());
}

TEST(Owners, AFileThatIsNotOneIsRefusedByItsKey) {
  const auto refused = [](const char* text) { return ParseOwners(text, "boot").error().message; };
  EXPECT_EQ(ParseOwners("", "boot").error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(refused(R"({"boot": "boot", "gpus": {}})"), HasSubstr("version: it is ''"));
  EXPECT_THAT(refused(R"({"version": "v1", "boot": "boot", "gpus": []})"),
              HasSubstr("gpus: not an object"));
  EXPECT_THAT(refused(R"({"version": "v1", "boot": "boot", "gpus": {"GPU-0": {}}})"),
              HasSubstr("gpus.GPU-0.program"));
  EXPECT_THAT(refused(R"({"version": "v1", "boot": "boot", "gpus": {"GPU-0": 1}})"),
              HasSubstr("gpus.GPU-0.program"));
}

TEST(Owners, AProgramReplacesOnlyWhatItHad) {
  const Owners mine = {{"GPU-2", {.program = "", .reason = "all-disabled"}}};
  const auto replaced = WithOwned(kTwo, "nvidia-mig-manager", mine);
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_EQ(*replaced,
            (Owners{{"GPU-1", kTwo.at("GPU-1")},
                    {"GPU-2", {.program = "nvidia-mig-manager", .reason = "all-disabled"}}}));
  EXPECT_EQ(*WithOwned(kTwo, "nvidia-mig-manager", {}), (Owners{{"GPU-1", kTwo.at("GPU-1")}}));
}

TEST(Owners, WhatAnotherHasIsRefusedWithItsReason) {
  const auto refused =
      WithOwned(kTwo, "nvidia-mig-manager", {{"GPU-1", {.program = "", .reason = "all-disabled"}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(refused.error().message, "take GPU GPU-1: another has it: a claim");
}

}  // namespace
}  // namespace gantry::gpu
