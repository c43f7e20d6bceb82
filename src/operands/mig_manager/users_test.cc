// SPDX-License-Identifier: Apache-2.0
#include "operands/mig_manager/users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::mig_manager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = gpu::MigStep::Kind;

const std::vector<User> kUsers = {{{"GPU-0", 1}, "pod a/b"},
                                  {{"GPU-0", 1}, "pod a/b"},
                                  {{"GPU-0", 2}, "pod a/c"},
                                  {{"GPU-1", std::nullopt}, "process 7 (python3)"}};
const std::vector<Target> kTargets = {{.index = 0, .uuid = "GPU-0", .layout = {}},
                                      {.index = 1, .uuid = "GPU-1", .layout = {}}};

gpu::MigPlan Plan(gpu::MigStep step) { return {.steps = {std::move(step)}}; }

TEST(Blockers, AreThoseOfInstancesThatAreDestroyed) {
  const std::vector<gpu::MigPlan> plans = {
      Plan({.kind = Kind::kDestroyInstance, .gpu_instance = 1}), {}};
  EXPECT_THAT(Blockers(kUsers, kTargets, plans), ElementsAre("GPU 0: pod a/b"));
  EXPECT_THAT(Blockers({}, kTargets, plans), IsEmpty());
}

TEST(Blockers, ACreationCutsNoOneOff) {
  const std::vector<gpu::MigPlan> plans = {Plan({.kind = Kind::kCreateInstance}),
                                           Plan({.kind = Kind::kCreateInstance})};
  EXPECT_THAT(Blockers(kUsers, kTargets, plans), IsEmpty());
}

TEST(Blockers, AChangeOfModeCutsAllOff) {
  const std::vector<gpu::MigPlan> plans = {Plan({.kind = Kind::kSetMode}),
                                           Plan({.kind = Kind::kReset})};
  EXPECT_THAT(Blockers(kUsers, kTargets, plans),
              ElementsAre("GPU 0: pod a/b", "GPU 0: pod a/c", "GPU 1: process 7 (python3)"));
}

TEST(HeldInstances, AreOfThatGpu) {
  EXPECT_THAT(HeldInstances(kUsers, "GPU-0"), ElementsAre(1, 2));
  EXPECT_THAT(HeldInstances(kUsers, "GPU-1"), IsEmpty());
}

}  // namespace
}  // namespace gantry::mig_manager
