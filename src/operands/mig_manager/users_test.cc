// SPDX-License-Identifier: Apache-2.0
#include "operands/mig_manager/users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::mig_manager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = gpu::MigStep::Kind;

const std::vector<User> kUsers = {
    {.part = {"GPU-0", 1}, .pod = "a/b"},
    {.part = {"GPU-0", 1}, .pod = "a/b"},
    {.part = {"GPU-0", 2}, .pod = "a/c"},
    {.part = {"GPU-0", 2}, .process = "process 6 (python3)", .in_pod = true},
    {.part = {"GPU-1", std::nullopt}, .process = "process 7 (python3)"}};
const std::vector<Target> kTargets = {{.index = 0, .uuid = "GPU-0", .layout = {}},
                                      {.index = 1, .uuid = "GPU-1", .layout = {}}};

std::vector<std::string> TextsOf(std::span<const User> users, std::span<const gpu::MigPlan> plans) {
  std::vector<std::string> texts;
  for (const Blocker& blocker : Blockers(users, kTargets, plans)) {
    texts.push_back(BlockerText(blocker));
  }
  return texts;
}

gpu::MigPlan Plan(gpu::MigStep step) { return {.steps = {std::move(step)}}; }

TEST(Blockers, AreThoseOfInstancesThatAreDestroyed) {
  const std::vector<gpu::MigPlan> plans = {
      Plan({.kind = Kind::kDestroyInstance, .gpu_instance = 1}), {}};
  EXPECT_THAT(TextsOf(kUsers, plans), ElementsAre("GPU 0: pod a/b"));
  EXPECT_THAT(TextsOf({}, plans), IsEmpty());
}

TEST(Blockers, ACreationCutsNoOneOff) {
  const std::vector<gpu::MigPlan> plans = {Plan({.kind = Kind::kCreateInstance}),
                                           Plan({.kind = Kind::kCreateInstance})};
  EXPECT_THAT(TextsOf(kUsers, plans), IsEmpty());
}

TEST(Blockers, AChangeOfModeCutsAllOff) {
  const std::vector<gpu::MigPlan> plans = {Plan({.kind = Kind::kSetMode}),
                                           Plan({.kind = Kind::kReset})};
  EXPECT_THAT(TextsOf(kUsers, plans),
              ElementsAre("GPU 0: pod a/b", "GPU 0: pod a/c", "GPU 1: process 7 (python3)"));
}

TEST(Blockers, AProcessOfAPodIsNamedIfNoPodHoldsItsGpu) {
  const std::vector<gpu::MigPlan> plans = {Plan({.kind = Kind::kSetMode}), {}};
  EXPECT_THAT(TextsOf(std::span(kUsers).subspan(3), plans),
              ElementsAre("GPU 0: process 6 (python3)"));
}

TEST(HoldersOf, NamesEachOnceWhateverTheNumberOfItsGpus) {
  const std::vector<Blocker> blockers = {{.gpu = 0, .pod = "a/b"},
                                         {.gpu = 1, .pod = "a/b"},
                                         {.gpu = 0, .process = "process 7 (python3)"},
                                         {.gpu = 1, .process = "process 7 (python3)"}};
  EXPECT_EQ(HoldersOf(blockers, "all-1g.10gb"),
            (policy::MigHolders{
                .layout = "all-1g.10gb", .pods = {"a/b"}, .processes = {"process 7 (python3)"}}));
}

TEST(HeldInstances, AreOfThatGpu) {
  EXPECT_THAT(HeldInstances(kUsers, "GPU-0"), ElementsAre(1, 2));
  EXPECT_THAT(HeldInstances(kUsers, "GPU-1"), IsEmpty());
}

}  // namespace
}  // namespace gantry::mig_manager
