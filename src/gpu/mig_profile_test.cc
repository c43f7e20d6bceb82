// SPDX-License-Identifier: Apache-2.0
#include "gpu/mig_profile.h"

#include <gtest/gtest.h>

#include "gpu/testing/mig_boards.h"

namespace gantry::gpu {
namespace {

TEST(ParseMigProfile, ReadsWhatUpstreamsToolsWrite) {
  EXPECT_EQ(ParseMigProfile("3g.40gb").value(), (MigProfile{3, 3, 40, ""}));
  EXPECT_EQ(ParseMigProfile("1c.3g.40gb").value(), (MigProfile{1, 3, 40, ""}));
  EXPECT_EQ(ParseMigProfile("1g.24gb+me.all").value(), (MigProfile{1, 1, 24, "+me.all"}));
  EXPECT_EQ(ParseMigProfile("1g.24gb-me").value(), (MigProfile{1, 1, 24, "-me"}));
  EXPECT_EQ(ParseMigProfile("2g.48gb+me,gfx").value(), (MigProfile{2, 2, 48, "+gfx,me"}));
  EXPECT_EQ(ParseMigProfile("7g.141gb").value().gigabytes, 141U);
}

TEST(ParseMigProfile, WritesWhatItRead) {
  for (const char* name : {"1g.5gb", "1c.7g.80gb", "1g.10gb+me", "2g.48gb-me"}) {
    EXPECT_EQ(MigProfileText(ParseMigProfile(name).value()), name);
  }
}

TEST(ParseMigProfile, RefusesOtherNames) {
  for (const char* name :
       {"", "1g", "g.5gb", "1g.gb", "0g.5gb", "1g.5gb+", "1g.5gb+1me", "1g.5gb+me,",
        "1g.5gb-me,gfx", "1g.5gb me", "1c.g.5gb", "1g.5GB", "c.1g.5gb", "99999999999g.5gb"}) {
    const auto parsed = ParseMigProfile(name);
    ASSERT_FALSE(parsed.has_value()) << name;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kInvalid);
  }
  EXPECT_EQ(ParseMigProfile("4c.3g.40gb").error().message,
            "MIG profile \"4c.3g.40gb\": a compute instance of 4 slices does not fit into a GPU "
            "instance of 3");
}

std::string Found(const nvml::MigGpu& gpu, const char* name) {
  const auto found = FindMigProfile(ParseMigProfile(name).value(), gpu.profiles);
  return found.has_value() ? (*found)->name : found.error().message;
}

TEST(FindMigProfile, TakesTheNameOfAnotherDriverToo) {
  EXPECT_EQ(Found(testing::B200(), "1g.23gb"), "1g.23gb");
  EXPECT_EQ(Found(testing::B200(), "1g.24gb"), "1g.23gb");
  EXPECT_EQ(Found(testing::B200(), "1g.47gb"), "1g.45gb");
  EXPECT_EQ(Found(testing::B200(), "7g.189gb"), "7g.180gb");
  EXPECT_EQ(Found(testing::A100(), "1g.10gb"), "1g.10gb");
  EXPECT_EQ(Found(testing::A100(), "1c.3g.20gb"), "3g.20gb");
}

TEST(FindMigProfile, DoesNotTakeAnotherBoards) {
  EXPECT_EQ(Found(testing::A100(), "1g.6gb"),
            "MIG profile \"1g.6gb\": this GPU has none such; near are 1g.5gb, 1g.5gb+me, 1g.10gb");
  EXPECT_EQ(Found(testing::A100(), "5g.7gb"),
            "MIG profile \"5g.7gb\": this GPU has none such; near are 1g.5gb, 2g.10gb, 3g.20gb, "
            "4g.20gb, 7g.40gb, 1g.5gb+me, 1g.10gb");
  EXPECT_NE(Found(testing::RtxPro6000(), "1g.24gb+gfx"), "1g.24gb");
  EXPECT_EQ(Found(testing::RtxPro6000(), "1g.24gb-me"), "1g.24gb-me");
}

}  // namespace
}  // namespace gantry::gpu
