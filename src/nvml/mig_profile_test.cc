// SPDX-License-Identifier: Apache-2.0
// Names of MIG devices, with the figures that real boards report.
#include "nvml/mig_profile.h"

#include <gtest/gtest.h>
#include <nvml.h>

namespace gantry::nvml {
namespace {

struct Row {
  const char* name;
  uint64_t gpu_mib;  // total, as nvmlDeviceGetMemoryInfo has it
  uint64_t mib;      // of the MIG device
  unsigned gpu_slices;
  unsigned compute_slices;
};

constexpr Row kRows[] = {
    {"1g.5gb", 40960, 4864, 1, 1},      {"1g.10gb", 40960, 9856, 1, 1},
    {"2g.10gb", 40960, 9856, 2, 2},     {"3g.20gb", 40960, 19968, 3, 3},
    {"7g.40gb", 40960, 40192, 7, 7},    {"1g.10gb", 81920, 9856, 1, 1},
    {"1c.3g.40gb", 81920, 40192, 3, 1}, {"1g.6gb", 24576, 5836, 1, 1},
    {"4g.24gb", 24576, 23344, 4, 4},    {"1g.10gb", 81559, 9984, 1, 1},
    {"3g.40gb", 81559, 40448, 3, 3},    {"7g.80gb", 81559, 81152, 7, 7},
    {"1g.18gb", 143771, 16384, 1, 1},   {"1g.35gb", 143771, 33280, 1, 1},
    {"3g.71gb", 143771, 71424, 3, 3},   {"2c.7g.141gb", 143771, 143360, 7, 2},
    {"1g.23gb", 183359, 20992, 1, 1},   {"1g.23gb", 183359, 22528, 1, 1},
    {"3g.90gb", 183359, 91136, 3, 3},   {"1g.24gb", 97887, 24187, 1, 1},
};

TEST(MigProfileName, CountsEighthsOfTheGpuAsRealBoardsAreCalled) {
  for (const Row& row : kRows) {
    MigAttributes attributes;
    attributes.gpu_slices = row.gpu_slices;
    attributes.compute_slices = row.compute_slices;
    attributes.memory_mib = row.mib;
    EXPECT_EQ(MigProfileName(attributes, row.gpu_mib << 20, ""), row.name) << row.gpu_mib;
  }
}

TEST(MigProfileName, AGpuThatDoesNotTellItsMemoryLeavesTheInstancesOwn) {
  const MigAttributes attributes{.gpu_slices = 2, .compute_slices = 2, .memory_mib = 9856};
  EXPECT_EQ(MigProfileName(attributes, 0, "+me"), "2g.10gb+me");
}

TEST(MigSuffix, SaysWhatTheProfileHasBesideItsSize) {
  EXPECT_EQ(MigSuffix(NVML_GPU_INSTANCE_PROFILE_1_SLICE), "");
  EXPECT_EQ(MigSuffix(NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2), "");
  EXPECT_EQ(MigSuffix(NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1), "+me");
  EXPECT_EQ(MigSuffix(NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1), "+me");
  EXPECT_EQ(MigSuffix(NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME), "+me.all");
  EXPECT_EQ(MigSuffix(NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX), "+gfx");
  EXPECT_EQ(MigSuffix(17), "+gfx");
  EXPECT_EQ(MigSuffix(NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME), "-me");
  EXPECT_EQ(MigSuffix(99), "");
}

TEST(MigSuffix, IsAtTheEndOfNvmlsNameOfTheDevice) {
  EXPECT_EQ(MigSuffixOfName("NVIDIA H100 80GB HBM3 MIG 1g.10gb"), "");
  EXPECT_EQ(MigSuffixOfName("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me"), "+me");
  EXPECT_EQ(MigSuffixOfName("NVIDIA RTX PRO 6000 MIG 1g.24gb-me"), "-me");
  EXPECT_EQ(MigSuffixOfName("NVIDIA H100"), "");
  EXPECT_EQ(MigSuffixOfName(""), "");
}

}  // namespace
}  // namespace gantry::nvml
