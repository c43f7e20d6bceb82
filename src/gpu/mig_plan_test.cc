// SPDX-License-Identifier: Apache-2.0
// Plans for real boards, and for random layouts: each is carried out on a driver that refuses what
// a real one refuses.
#include "gpu/mig_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "gpu/mig_placement.h"
#include "gpu/mig_profile.h"
#include "gpu/testing/mig_boards.h"

namespace gantry::gpu {
namespace {

using Devices = std::map<std::string, unsigned>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MigLayout Layout(Devices devices) { return {.enabled = true, .devices = std::move(devices)}; }

std::vector<std::string> Texts(const MigPlan& plan) {
  std::vector<std::string> texts;
  for (const MigStep& step : plan.steps) {
    texts.push_back(MigStepText(step));
  }
  return texts;
}

// The board divided so.
nvml::MigGpu Divided(nvml::MigGpu board, const Devices& devices) {
  testing::Driver driver(std::move(board));
  driver.Do(PlanMig(driver.gpu(), Layout(devices)).value());
  return driver.gpu();
}

TEST(PlanMig, AGpuThatIsAsWantedIsLeftAlone) {
  const nvml::MigGpu gpu = Divided(testing::H100(), {{"3g.40gb", 1}, {"1g.10gb", 3}});
  const MigPlan plan = PlanMig(gpu, Layout({{"1g.10gb", 3}, {"3g.40gb", 1}})).value();
  EXPECT_THAT(Texts(plan), IsEmpty());
  EXPECT_EQ(plan.kept, 4U);
  EXPECT_THAT(PlanMig(gpu, Layout({{"1g.10gb", 3}, {"3g.40gb", 1}, {"2g.20gb", 0}}))->steps,
              IsEmpty());
}

TEST(PlanMig, OnlyWhatDiffersChanges) {
  const nvml::MigGpu gpu = Divided(testing::H100(), {{"3g.40gb", 2}});
  const unsigned second = gpu.instances[1].id;
  const MigPlan plan = PlanMig(gpu, Layout({{"3g.40gb", 1}, {"2g.20gb", 2}})).value();
  EXPECT_EQ(plan.kept, 1U);
  EXPECT_EQ(DestroyedBy(plan).size(), 1U);
  EXPECT_EQ(DestroyedBy(PlanMig(gpu, Layout({{"3g.40gb", 1}}), {second}).value()),
            std::set{gpu.instances[0].id});
}

// The 3g.40gb is at 0, where the 4g.40gb must be: nothing can stay.
TEST(PlanMig, APlacementThatIsInTheWayIsGivenUp) {
  const nvml::MigGpu gpu = Divided(testing::H100(), {{"3g.40gb", 1}});
  ASSERT_EQ(gpu.instances[0].start, 0U);
  const MigPlan plan = PlanMig(gpu, Layout({{"4g.40gb", 1}, {"3g.40gb", 1}})).value();
  EXPECT_EQ(plan.kept, 0U);
  EXPECT_THAT(
      Texts(plan),
      ElementsAre("destroy compute instance 2 of GPU instance 101", "destroy GPU instance 101",
                  "create GPU instance 3g.40gb at 4", "create compute instance of 3 slices in it",
                  "create GPU instance 4g.40gb at 0", "create compute instance of 4 slices in it"));
}

TEST(PlanMig, ComputeInstancesShareAGpuInstanceAndSomeStay) {
  const nvml::MigGpu gpu = Divided(testing::A100(), {{"1c.3g.20gb", 3}});
  ASSERT_EQ(gpu.instances.size(), 1U);
  EXPECT_EQ(MigDevicesOf(gpu), (Devices{{"1c.3g.20gb", 3}}));
  const MigPlan fewer = PlanMig(gpu, Layout({{"1c.3g.20gb", 2}})).value();
  EXPECT_EQ(fewer.kept, 2U);
  EXPECT_EQ(fewer.steps.size(), 1U);
  // A 2c needs two neighbours: whoever is left may be between them.
  const MigPlan other = PlanMig(gpu, Layout({{"2c.3g.20gb", 1}, {"1c.3g.20gb", 1}})).value();
  EXPECT_EQ(other.kept, 0U);
}

// What a change that was cut off has left.
TEST(PlanMig, AGpuInstanceWithoutComputeInstanceIsUsedOrDestroyed) {
  nvml::MigGpu gpu = Divided(testing::A100(), {{"3g.20gb", 2}});
  gpu.instances[1].compute.clear();
  EXPECT_THAT(Texts(PlanMig(gpu, Layout({{"3g.20gb", 1}})).value()),
              ElementsAre(format("destroy GPU instance {}", gpu.instances[1].id)));
  EXPECT_THAT(Texts(PlanMig(gpu, Layout({{"3g.20gb", 2}})).value()),
              ElementsAre(format("create compute instance of 3 slices in GPU instance {}",
                                 gpu.instances[1].id)));
}

TEST(PlanMig, WhatABoardCannotHoldIsRefused) {
  const auto refusal = [](const nvml::MigGpu& gpu, const Devices& devices) {
    const auto plan = PlanMig(gpu, Layout(devices));
    return plan.has_value() ? "" : plan.error().message;
  };
  EXPECT_EQ(refusal(testing::A100(), {{"4g.20gb", 1}, {"3g.20gb", 1}}), "");
  EXPECT_EQ(refusal(testing::A100(), {{"4g.20gb", 1}, {"3g.20gb", 2}}),
            "GPU 0 (A100-SXM4-40GB): no placement holds these GPU instances together: 3g.20gb, "
            "3g.20gb, 4g.20gb");
  EXPECT_THAT(refusal(testing::A100(), {{"1g.5gb", 1'000'000'000}}), HasSubstr("do not fit"));
  EXPECT_THAT(refusal(testing::A100(), {{"1g.7gb", 1}}), HasSubstr("GPU 0 (A100-SXM4-40GB): MIG"));
  // What has all media engines leaves room only for what has none.
  EXPECT_EQ(refusal(testing::RtxPro6000(), {{"1g.24gb+me.all", 1}, {"1g.24gb-me", 3}}), "");
  EXPECT_NE(refusal(testing::RtxPro6000(), {{"1g.24gb+me.all", 1}, {"1g.24gb", 1}}), "");
  nvml::MigGpu plain;
  EXPECT_EQ(refusal(plain, {}), "GPU 0 (): MIG is not supported");
  EXPECT_THAT(PlanMig(plain, {})->steps, IsEmpty());
}

TEST(PlanMig, TheModeChangesAfterTheInstancesAreGone) {
  const nvml::MigGpu gpu = Divided(testing::A30(), {{"2g.12gb", 1}});
  EXPECT_THAT(Texts(PlanMig(gpu, {}).value()),
              ElementsAre("destroy compute instance 2 of GPU instance 101",
                          "destroy GPU instance 101", "disable MIG"));
  nvml::MigGpu off = testing::A30();
  off.enabled = off.enabled_pending = false;
  EXPECT_THAT(Texts(PlanMig(off, Layout({{"4g.24gb", 1}})).value()),
              ElementsAre("enable MIG", "create GPU instance 4g.24gb at 0",
                          "create compute instance of 4 slices in it"));
  EXPECT_THAT(PlanMig(off, {})->steps, IsEmpty());
}

TEST(PlanMig, AResetOnlyWhereAModeIsPending) {
  nvml::MigGpu gpu = testing::A100();
  gpu.enabled = false;
  EXPECT_EQ(Texts(PlanMig(gpu, Layout({})).value()), std::vector<std::string>{"reset the GPU"});
  // Not wanted any more: it is taken back, without a reset.
  EXPECT_EQ(Texts(PlanMig(gpu, {}).value()), std::vector<std::string>{"disable MIG"});
}

// Drivers before 550 report no profiles while MIG is disabled.
TEST(PlanMig, WhatIsNotKnownYetIsPlannedAfterTheMode) {
  nvml::MigGpu gpu = testing::A100();
  gpu.enabled = gpu.enabled_pending = false;
  gpu.profiles.clear();
  const MigPlan plan = PlanMig(gpu, Layout({{"3g.20gb", 2}})).value();
  EXPECT_TRUE(plan.unfinished);
  EXPECT_EQ(Texts(plan), std::vector<std::string>{"enable MIG"});
}

TEST(PlanMig, AnEarlierLayoutIsMadeInItsPlaces) {
  testing::Driver driver(Divided(testing::A100(), {{"1c.3g.20gb", 2}, {"2g.10gb", 1}}));
  const MigLayout before = MigLayoutOf(driver.gpu());
  driver.Do(PlanMig(driver.gpu(), Layout({{"1g.5gb", 7}})).value());
  driver.Do(PlanMig(driver.gpu(), before).value());
  EXPECT_EQ(MigLayoutOf(driver.gpu()), before);
  EXPECT_THAT(PlanMig(driver.gpu(), before)->steps, IsEmpty());
}

TEST(HasLayout, ComparesProfilesByWhatTheyMean) {
  const nvml::MigGpu gpu = Divided(testing::B200(), {{"1g.24gb", 7}});
  EXPECT_TRUE(HasLayout(gpu, Layout({{"1g.24gb", 7}}), false).value());
  EXPECT_TRUE(HasLayout(gpu, Layout({{"1g.23gb", 7}}), false).value());
  EXPECT_FALSE(HasLayout(gpu, Layout({{"1g.23gb", 6}}), false).value());
  EXPECT_TRUE(HasLayout(gpu, Layout({}), true).value());
  EXPECT_FALSE(HasLayout(gpu, {}, true).value());
}

// Whether any order and placement holds them, without a thought.
bool Fits(const nvml::MigGpu& gpu, std::vector<const nvml::GpuInstanceProfile*> wanted,
          unsigned taken) {
  if (wanted.empty()) {
    return true;
  }
  const nvml::GpuInstanceProfile& one = *wanted.back();
  wanted.pop_back();
  return std::ranges::any_of(one.starts, [&](unsigned start) {
    const unsigned mask = ((1U << one.size) - 1) << start;
    return (taken & mask) == 0 && Fits(gpu, wanted, taken | mask);
  });
}

bool Fits(const nvml::MigGpu& gpu, const Devices& devices) {
  std::vector<const nvml::GpuInstanceProfile*> wanted;
  unsigned decoders = 0;
  unsigned jpeg = 0;
  unsigned ofa = 0;
  unsigned all[3] = {};
  for (const nvml::GpuInstanceProfile& one : gpu.profiles) {
    const unsigned count = devices.contains(one.name) ? devices.at(one.name) : 0;
    if (count > one.count) {
      return false;
    }
    wanted.insert(wanted.end(), count, &one);
    decoders += count * one.decoders;
    jpeg += count * one.jpeg_engines;
    ofa += count * one.ofa_engines;
    all[0] = std::max(all[0], one.decoders);
    all[1] = std::max(all[1], one.jpeg_engines);
    all[2] = std::max(all[2], one.ofa_engines);
  }
  return decoders <= all[0] && jpeg <= all[1] && ofa <= all[2] && Fits(gpu, wanted, 0);
}

// Compute instances that are in both.
unsigned Unchanged(const nvml::MigGpu& before, const nvml::MigGpu& after) {
  unsigned same = 0;
  for (const nvml::GpuInstance& instance : before.instances) {
    const auto found = std::ranges::find(after.instances, instance.id, &nvml::GpuInstance::id);
    for (const nvml::ComputeInstance& one : instance.compute) {
      same += found != after.instances.end() && std::ranges::count(found->compute, one) > 0 ? 1 : 0;
    }
  }
  return same;
}

// From any layout to any other: the plan ends in what is wanted and keeps what it says, or nothing
// holds it. One that wants less than there is destroys nothing that is wanted.
TEST(PlanMig, RandomLayoutsEndAsWanted) {
  std::mt19937 random(20261125);  // NOLINT(cert-msc51-cpp): the same layouts each time
  unsigned placed = 0;
  for (const nvml::MigGpu& board :
       {testing::A100(), testing::H100(), testing::A30(), testing::B200(), testing::RtxPro6000()}) {
    testing::Driver driver(board);
    for (int round = 0; round < 500; ++round) {
      Devices wanted;
      for (unsigned picks = random() % 5; picks > 0; --picks) {
        wanted[board.profiles[random() % board.profiles.size()].name] += 1 + random() % 2;
      }
      const auto plan = PlanMig(driver.gpu(), Layout(wanted));
      ASSERT_EQ(plan.has_value(), Fits(board, wanted));
      if (!plan.has_value()) {
        continue;
      }
      ++placed;
      const nvml::MigGpu before = driver.gpu();
      unsigned common = 0;
      for (const auto& [name, count] : MigDevicesOf(before)) {
        common += std::min(count, wanted.contains(name) ? wanted.at(name) : 0);
      }
      const bool fewer = common == [&] {
        unsigned all = 0;
        for (const auto& [name, count] : wanted) {
          all += count;
        }
        return all;
      }();
      EXPECT_EQ(PlanMig(before, Layout(wanted))->steps, plan->steps);
      driver.Do(*plan);
      EXPECT_EQ(MigDevicesOf(driver.gpu()), wanted);
      EXPECT_EQ(Unchanged(before, driver.gpu()), plan->kept);
      EXPECT_LE(plan->kept, common);
      if (fewer) {
        EXPECT_EQ(plan->kept, common);
      }
      EXPECT_THAT(PlanMig(driver.gpu(), Layout(wanted))->steps, IsEmpty());
    }
  }
  EXPECT_GT(placed, 500U);
}

}  // namespace
}  // namespace gantry::gpu
