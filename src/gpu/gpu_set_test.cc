// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/testing/gpus.h"

namespace gantry::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(KeepUnreadable, AGpuThatCantBeReadIsStillThere) {
  auto before = SetOf(Gpus(3));
  before.scores[0][1] = before.scores[1][0] = 7;
  const std::vector<gpu::FailedGpu> nameless = {{.index = 1, .uuid = "", .reason = "GPU_IS_LOST"}};
  const std::vector<gpu::FailedGpu> named = {
      {.index = 1, .uuid = "GPU-1", .reason = "GPU_IS_LOST"}};
  for (const auto& failed : {nameless, named}) {
    auto now = SetOf({before.gpus[0], before.gpus[2]});
    now.failed = failed;
    EXPECT_EQ(KeepUnreadable(before, now), named);
    EXPECT_EQ(now, before);
  }
}

TEST(NameFailed, ByTheIndexesOfBefore) {
  const GpuSet before = SetOf(Gpus(2));
  GpuSet lost = SetOf(Gpus(1));
  lost.failed = {{1, "", "GPU_IS_LOST"}};
  NameFailed(before, lost);
  EXPECT_EQ(lost.failed.front().uuid, "GPU-1");
  GpuSet later = SetOf(Gpus(1));
  later.failed = {{1, "", "GPU_IS_LOST"}, {2, "", "GPU_IS_LOST"}};
  NameFailed(lost, later);
  EXPECT_EQ(later.failed[0].uuid, "GPU-1") << "also of one that was lost before";
  EXPECT_EQ(later.failed[1].uuid, "") << "never seen";
  GpuSet moved = SetOf(Gpus(2));
  moved.failed = {{1, "", "GPU_IS_LOST"}};
  NameFailed(before, moved);
  EXPECT_EQ(moved.failed.front().uuid, "") << "its GPU has another index now";
}

// A second one that is lost, and MIG devices that change elsewhere, remove no GPU from the list.
TEST(KeepUnreadable, WhateverElseIsNew) {
  auto before = SetOf(Gpus(3));
  before.failed = {{.index = 3, .uuid = "", .reason = "never read"}};
  auto changed = before.gpus[2];
  AddMig(changed, {"1g.10gb"});
  auto now = SetOf({before.gpus[0], changed});
  now.failed = {{.index = 1, .uuid = "", .reason = "GPU_IS_LOST"}, before.failed[0]};
  ASSERT_THAT(KeepUnreadable(before, now), SizeIs(1));
  EXPECT_EQ(now.gpus, (std::vector<Gpu>{before.gpus[0], before.gpus[1], changed}));
  EXPECT_EQ(now.scores, before.scores);
  EXPECT_EQ(now.failed, before.failed) << "of that one nothing is known";
}

TEST(KeepUnreadable, WhatIsGoneIsGone) {
  const auto before = SetOf(Gpus(3));
  const auto fewer = SetOf({before.gpus[0], before.gpus[2]});
  auto now = fewer;
  EXPECT_THAT(KeepUnreadable(before, now), IsEmpty()) << "it was taken out";
  EXPECT_EQ(now, fewer);
  now.failed = {{.index = 1, .uuid = "GPU-9", .reason = "GPU_IS_LOST"}};
  EXPECT_THAT(KeepUnreadable(before, now), IsEmpty()) << "another GPU in its place";
  now.gpus[1].index = 1;
  now.failed = {{.index = 2, .uuid = "", .reason = "GPU_IS_LOST"}};
  EXPECT_THAT(KeepUnreadable(before, now), IsEmpty()) << "the GPU of that place has moved";
  now = fewer;
  now.failed = {{.index = 1, .uuid = "GPU-1", .reason = "GPU_IS_LOST"}};
  now.driver_version = "580.1";
  EXPECT_THAT(KeepUnreadable(before, now), IsEmpty()) << "another driver's";
}

TEST(KeepHeld, AGpuThatAnotherChangesStaysAsItWas) {
  auto before = SetOf(Gpus(3));
  AddMig(before.gpus[1], {"3g.40gb"});
  auto now = SetOf(Gpus(3));
  now.gpus[0].mig_enabled = true;
  KeepHeld(before, {"GPU-1"}, now);
  EXPECT_EQ(now.gpus[1], before.gpus[1]);
  EXPECT_TRUE(now.gpus[0].mig_enabled);
}

TEST(KeepHeld, OneThatWasNeverSeenIsLeftOut) {
  auto now = SetOf(Gpus(3));
  now.scores = {{0, 1, 2}, {1, 0, 3}, {2, 3, 0}};
  KeepHeld(std::nullopt, {"GPU-1", "GPU-7"}, now);
  EXPECT_THAT(now.gpus, SizeIs(2));
  EXPECT_EQ(now.gpus[1].uuid, "GPU-2");
  EXPECT_EQ(now.scores, (PairScores{{0, 2}, {2, 0}}));
  KeepHeld(SetOf({}), {"GPU-0", "GPU-2"}, now);
  EXPECT_THAT(now.gpus, IsEmpty());
}

}  // namespace
}  // namespace gantry::gpu
