// SPDX-License-Identifier: Apache-2.0
#include "operands/mig_manager/withdrawal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::mig_manager {
namespace {

using Kind = gpu::MigStep::Kind;

TEST(WithdrawnFor, GpusThatChangeAndNoOthers) {
  const std::vector<Target> targets = {{.index = 0, .uuid = "GPU-0", .layout = {}},
                                       {.index = 1, .uuid = "GPU-1", .layout = {}},
                                       {.index = 2, .uuid = "GPU-2", .layout = {}},
                                       {.index = 3, .uuid = "GPU-3", .layout = {}}};
  const std::vector<gpu::MigPlan> plans = {{.steps = {{.kind = Kind::kCreateInstance}}},
                                           {},
                                           {.steps = {{.kind = Kind::kSetMode}}},
                                           {.steps = {{.kind = Kind::kReset}}}};
  const std::string reason = "its MIG layout changes to all-1g.10gb";
  EXPECT_EQ(WithdrawnFor(targets, plans, "all-1g.10gb"),
            (gpu::Owners{{"GPU-0", {.program = "", .reason = reason}},
                         {"GPU-2", {.program = "", .reason = reason, .exclusive = true}},
                         {"GPU-3", {.program = "", .reason = reason, .exclusive = true}}}));
}

TEST(WithdrawnUntilFree, OtherProgramsKeepThemOpen) {
  const std::vector<Target> targets = {{.index = 0, .uuid = "GPU-0", .layout = {}},
                                       {.index = 1, .uuid = "GPU-1", .layout = {}}};
  const std::vector<gpu::MigPlan> plans = {{.steps = {{.kind = Kind::kSetMode}}}, {}};
  EXPECT_EQ(
      WithdrawnUntilFree(targets, plans, "all-1g.10gb"),
      (gpu::Owners{{"GPU-0",
                    {.program = "",
                     .reason = "its MIG layout changes to all-1g.10gb when nobody uses it any "
                               "more"}}}));
}

TEST(AllWithdrawn, EachExclusively) {
  nvml::MigGpu gpu;
  gpu.uuid = "GPU-0";
  const gpu::Owners owners = AllWithdrawn(std::vector{gpu});
  ASSERT_EQ(owners.size(), 1U);
  EXPECT_TRUE(owners.at("GPU-0").exclusive);
}

}  // namespace
}  // namespace gantry::mig_manager
