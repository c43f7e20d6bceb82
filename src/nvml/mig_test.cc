// SPDX-License-Identifier: Apache-2.0
// Reading MIG devices from a driver that has one of each kind: functions of the test's own stand in
// for the library's.
#include "nvml/mig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace gantry::nvml {
namespace {

// Handles are addresses: of the GPU, and of its MIG devices by index.
char* Handles() {
  static char handles[16];
  return handles;
}
nvmlDevice_t Gpu() { return reinterpret_cast<nvmlDevice_t>(Handles() + 15); }
nvmlDevice_t Mig(unsigned index) { return reinterpret_cast<nvmlDevice_t>(Handles() + index); }
unsigned IndexOf(void* handle) {
  return static_cast<unsigned>(static_cast<char*>(handle) - Handles());
}

constexpr unsigned kAbsent = 1;    // no MIG device at this index
constexpr unsigned kVanishes = 3;  // destroyed right after its handle was given out
constexpr unsigned kMedia = 2;     // made from the profile with media engines

// A GPU of 80 GB with devices 0 (3g.40gb, divided), 2 (1g.10gb+me) and one that vanishes.
Symbols Driver() {
  Symbols symbols;
  symbols.nvmlDeviceGetMaxMigDeviceCount = [](nvmlDevice_t, unsigned* count) {
    *count = 7;
    return NVML_SUCCESS;
  };
  symbols.nvmlDeviceGetMigDeviceHandleByIndex = [](nvmlDevice_t, unsigned index,
                                                   nvmlDevice_t* out) {
    *out = Mig(index);
    return index == kAbsent || index > kVanishes ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS;
  };
  symbols.nvmlDeviceGetUUID = [](nvmlDevice_t handle, char* out, unsigned length) {
    snprintf(out, length, "MIG-%u", IndexOf(handle));
    return NVML_SUCCESS;
  };
  symbols.nvmlDeviceGetGpuInstanceId = [](nvmlDevice_t handle, unsigned* out) {
    *out = IndexOf(handle) + 1;
    return NVML_SUCCESS;
  };
  symbols.nvmlDeviceGetComputeInstanceId = [](nvmlDevice_t handle, unsigned* out) {
    *out = IndexOf(handle) == 0 ? 2 : 0;
    return NVML_SUCCESS;
  };
  symbols.nvmlDeviceGetAttributes_v2 = [](nvmlDevice_t handle, nvmlDeviceAttributes_t* out) {
    *out = {14, 1, 0, 0, 0, 0, 1, 1, 9856};
    if (IndexOf(handle) == 0) {
      *out = {14, 3, 2, 0, 1, 0, 3, 1, 40192};
    }
    return IndexOf(handle) == kVanishes ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
  };
  symbols.nvmlDeviceGetName = [](nvmlDevice_t handle, char* out, unsigned length) {
    snprintf(out, length, "NVIDIA A100 MIG %s",
             IndexOf(handle) == kMedia ? "1g.10gb+me" : "1c.3g.40gb");
    return NVML_SUCCESS;
  };
  return symbols;
}

// A process that may ask for GPU instances: instance n + 1 was made from profile 20 if n is kMedia.
void AllowInstances(Symbols& symbols) {
  symbols.nvmlDeviceGetGpuInstanceById = [](nvmlDevice_t, unsigned id, nvmlGpuInstance_t* out) {
    *out = reinterpret_cast<nvmlGpuInstance_t>(Handles() + id - 1);
    return NVML_SUCCESS;
  };
  symbols.nvmlGpuInstanceGetInfo = [](nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t* out) {
    out->profileId = IndexOf(instance) == kMedia ? 20 : 9;
    out->placement = {.start = static_cast<unsigned>(IndexOf(instance)), .size = 2};
    return NVML_SUCCESS;
  };
  symbols.nvmlDeviceGetGpuInstanceProfileInfo = [](nvmlDevice_t, unsigned profile,
                                                   nvmlGpuInstanceProfileInfo_t* out) {
    out->id = profile == NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1 ? 20 : 100 + profile;
    return profile < NVML_GPU_INSTANCE_PROFILE_COUNT ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
  };
  symbols.nvmlDeviceGetName = nullptr;
}

Device A100() {
  Device device;
  device.index = 4;
  device.memory_bytes = 80ULL << 30;
  return device;
}

void ExpectBoth(const std::vector<MigDevice>& found) {
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], (MigDevice{.index = 0,
                                 .uuid = "MIG-0",
                                 .profile = "1c.3g.40gb",
                                 .gpu_instance = 1,
                                 .compute_instance = 2,
                                 .attributes = {.gpu_slices = 3,
                                                .compute_slices = 1,
                                                .multiprocessors = 14,
                                                .copy_engines = 3,
                                                .decoders = 2,
                                                .jpeg_engines = 1,
                                                .memory_mib = 40192}}));
  EXPECT_EQ(found[1].index, kMedia);
  EXPECT_EQ(found[1].profile, "1g.10gb+me");
  EXPECT_EQ(found[1].gpu_instance, 3U);
}

TEST(ReadMigDevices, LeavesOutGapsAndWhatWasDestroyedMeanwhile) {
  Symbols symbols = Driver();
  AllowInstances(symbols);
  Device device = A100();
  ASSERT_TRUE(ReadMigDevices(symbols, Gpu(), device).has_value());
  ASSERT_EQ(device.mig_devices.size(), 2);
  EXPECT_EQ(device.mig_devices[0].place, (MigPlace{.profile_id = 9, .start = 0, .size = 2}));
  EXPECT_EQ(device.mig_devices[1].place, (MigPlace{.profile_id = 20, .start = kMedia, .size = 2}));
  for (MigDevice& mig : device.mig_devices) {
    mig.place.reset();
  }
  ExpectBoth(device.mig_devices);
}

TEST(ReadMigDevices, WhoMayNotAskForGpuInstancesReadsTheNames) {
  Symbols symbols = Driver();
  symbols.nvmlDeviceGetGpuInstanceById = [](nvmlDevice_t, unsigned, nvmlGpuInstance_t*) {
    return NVML_ERROR_NO_PERMISSION;
  };
  Device device = A100();
  ASSERT_TRUE(ReadMigDevices(symbols, Gpu(), device).has_value());
  ExpectBoth(device.mig_devices);
}

TEST(ReadMigDevices, AnIllGpuIsAnErrorAndNotAGpuWithoutDevices) {
  Symbols symbols = Driver();
  symbols.nvmlDeviceGetGpuInstanceId = [](nvmlDevice_t, unsigned*) {
    return NVML_ERROR_GPU_IS_LOST;
  };
  Device device = A100();
  const Status read = ReadMigDevices(symbols, Gpu(), device);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(read.error().message, "read GPU 4 MIG device 0: GPU_IS_LOST");
}

}  // namespace
}  // namespace gantry::nvml
