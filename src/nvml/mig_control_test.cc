// SPDX-License-Identifier: Apache-2.0
// Reading how a GPU is divided from drivers of other ages: functions of the test's own stand in for
// the library's.
#include "nvml/mig_control.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace gantry::nvml {
namespace {

// A GPU whose MIG is disabled, and that has one profile: number 0.
Symbols OneProfile() {
  Symbols symbols;
  symbols.nvmlDeviceGetHandleByIndex_v2 = [](unsigned, nvmlDevice_t*) { return NVML_SUCCESS; };
  symbols.nvmlDeviceGetUUID = [](nvmlDevice_t, char* out, unsigned length) {
    snprintf(out, length, "GPU-1");
    return NVML_SUCCESS;
  };
  symbols.nvmlDeviceGetPciInfo_v3 = [](nvmlDevice_t, nvmlPciInfo_t*) { return NVML_SUCCESS; };
  symbols.nvmlDeviceGetMigMode = [](nvmlDevice_t, unsigned* current, unsigned* pending) {
    *current = NVML_DEVICE_MIG_DISABLE;
    *pending = NVML_DEVICE_MIG_ENABLE;
    return NVML_SUCCESS;
  };
  symbols.nvmlDeviceGetMemoryInfo = [](nvmlDevice_t, nvmlMemory_t* memory) {
    memory->total = 40960ULL << 20;
    return NVML_SUCCESS;
  };
  symbols.nvmlDeviceGetGpuInstanceProfileInfo = [](nvmlDevice_t, unsigned number,
                                                   nvmlGpuInstanceProfileInfo_t* out) {
    out->id = 9;
    out->sliceCount = 3;
    out->instanceCount = 2;
    out->memorySizeMB = 19968;
    return number == 0  ? NVML_SUCCESS
           : number < 4 ? NVML_ERROR_NOT_SUPPORTED
                        : NVML_ERROR_INVALID_ARGUMENT;
  };
  symbols.nvmlDeviceGetGpuInstancePossiblePlacements_v2 =
      [](nvmlDevice_t, unsigned, nvmlGpuInstancePlacement_t* out, unsigned* count) {
        *count = 2;
        if (out != nullptr) {
          out[0] = {4, 4};
          out[1] = {0, 4};
        }
        return NVML_SUCCESS;
      };
  return symbols;
}

TEST(MigControl, ADriverWithoutTheNewerCallIsAskedTheOlderOne) {
  const Symbols symbols = OneProfile();
  const MigGpu gpu = MigControl(symbols).ReadGpu(0).value();
  EXPECT_FALSE(gpu.enabled);
  EXPECT_TRUE(gpu.enabled_pending);
  ASSERT_EQ(gpu.profiles.size(), 1U);
  EXPECT_EQ(gpu.profiles[0].name, "3g.20gb");
  EXPECT_EQ(gpu.profiles[0].starts, (std::vector<unsigned>{0, 4}));
}

// A profile of a number that nobody knew when this was written: the driver's name ends with what
// it has.
TEST(MigControl, ANewProfileHasTheAttributesOfItsName) {
  Symbols symbols = OneProfile();
  symbols.nvmlDeviceGetGpuInstanceProfileInfoV = [](nvmlDevice_t, unsigned number,
                                                    nvmlGpuInstanceProfileInfo_v2_t* out) {
    out->sliceCount = 1;
    out->memorySizeMB = 4864;
    snprintf(out->name, sizeof out->name, "MIG 1g.5gb+new");
    return number == 18  ? NVML_SUCCESS
           : number < 18 ? NVML_ERROR_NOT_SUPPORTED
                         : NVML_ERROR_INVALID_ARGUMENT;
  };
  EXPECT_EQ(MigControl(symbols).ReadGpu(0)->profiles.at(0).name, "1g.5gb+new");
}

TEST(MigControl, AnIllGpuIsAnErrorAndNotAGpuWithoutProfiles) {
  Symbols symbols = OneProfile();
  symbols.nvmlDeviceGetGpuInstanceProfileInfo =
      [](nvmlDevice_t, unsigned, nvmlGpuInstanceProfileInfo_t*) { return NVML_ERROR_GPU_IS_LOST; };
  const auto read = MigControl(symbols).ReadGpu(0);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(read.error().message,
            "read MIG of GPU 0: nvmlDeviceGetGpuInstanceProfileInfo profile 0: GPU_IS_LOST");
}

}  // namespace
}  // namespace gantry::nvml
