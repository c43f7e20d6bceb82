// SPDX-License-Identifier: Apache-2.0
#include "operands/mig_manager/parted/verdict.h"

#include <gtest/gtest.h>

#include "gpu/testing/mig_boards.h"

namespace gantry::mig_parted {
namespace {

const gpu::MigLayout kTwo{.enabled = true, .devices = {{"3g.20gb", 2}}};

nvml::MigGpu Half() {
  nvml::MigGpu gpu = gpu::testing::A100();
  gpu.instances = {{.id = 1, .profile_id = 9, .start = 0, .size = 4, .compute = {{0, 3}}}};
  return gpu;
}

TEST(AssertApplied, NamesTheGpuThatDiffers) {
  const std::vector<nvml::MigGpu> gpus = {Half()};
  EXPECT_EQ(AssertApplied(gpus, {kTwo}, false).error().message,
            "GPU 0 (A100-SXM4-40GB): MIG enabled with {\"3g.20gb\":1}, wanted is MIG enabled with "
            "{\"3g.20gb\":2}");
  EXPECT_TRUE(AssertApplied(gpus, {kTwo}, true).has_value());
  EXPECT_EQ(AssertApplied(gpus, {gpu::MigLayout()}, true).error().message,
            "GPU 0 (A100-SXM4-40GB): MIG enabled with {\"3g.20gb\":1}, wanted is MIG disabled");
  EXPECT_TRUE(
      AssertApplied(gpus, {gpu::MigLayout{.enabled = true, .devices = {{"3g.20gb", 1}}}}, false)
          .has_value());
}

TEST(AssertApplied, EveryGpuThatCanBeDividedHasToMatch) {
  const std::vector<nvml::MigGpu> gpus = {Half(), nvml::MigGpu()};
  EXPECT_EQ(AssertApplied(gpus, {std::nullopt, std::nullopt}, true).error().message,
            "GPU 0 (A100-SXM4-40GB): no entry of the configuration is about it");
}

TEST(AssertValid, IsAboutTheBoardAndNotAboutWhatIsOnIt) {
  const std::vector<nvml::MigGpu> gpus = {Half()};
  EXPECT_TRUE(AssertValid(gpus, {kTwo}).has_value());
  EXPECT_FALSE(AssertValid(gpus, {gpu::MigLayout{.enabled = true, .devices = {{"7g.40gb", 2}}}})
                   .has_value());
}

}  // namespace
}  // namespace gantry::mig_parted
