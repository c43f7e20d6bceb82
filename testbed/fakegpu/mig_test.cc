// SPDX-License-Identifier: Apache-2.0
// MIG: what fits beside what, how instances are numbered, who sees them, and who may change them.
#include "library_test.h"

namespace fakegpu {
namespace {

constexpr unsigned kOne = 19, kOneMedia = 20, kOneDouble = 15, kTwo = 14, kThree = 9, kFour = 5,
                   kSeven = 0;

class MigTest : public FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    Node("nvidia-caps/nvidia-cap1");
    Node("nvidia-caps/nvidia-cap2");
    ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
    gpu_ = Device(0);
    SetMode(1);
  }

  void SetMode(unsigned mode) {
    nvmlReturn_t activation = NVML_ERROR_UNKNOWN;
    ASSERT_EQ(NVML(nvmlDeviceSetMigMode)(gpu_, mode, &activation), NVML_SUCCESS);
    ASSERT_EQ(activation, NVML_SUCCESS);
  }

  // Makes a GPU instance; its id, or the NVML code as a negative number.
  int Make(unsigned profile) {
    nvmlGpuInstance_t instance = nullptr;
    nvmlReturn_t result = NVML(nvmlDeviceCreateGpuInstance)(gpu_, profile, &instance);
    return result == NVML_SUCCESS ? static_cast<int>(Info(instance).id) : -static_cast<int>(result);
  }

  nvmlGpuInstanceInfo_t Info(nvmlGpuInstance_t instance) {
    nvmlGpuInstanceInfo_t info{};
    EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(instance, &info), NVML_SUCCESS);
    return info;
  }

  nvmlGpuInstance_t ById(unsigned id) {
    nvmlGpuInstance_t instance = nullptr;
    EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceById)(gpu_, id, &instance), NVML_SUCCESS);
    return instance;
  }

  // Makes a compute instance; its id, or the NVML code as a negative number.
  int MakeCompute(unsigned gpu_instance, unsigned profile) {
    nvmlComputeInstance_t instance = nullptr;
    nvmlComputeInstanceInfo_t info{};
    nvmlReturn_t result =
        NVML(nvmlGpuInstanceCreateComputeInstance)(ById(gpu_instance), profile, &instance);
    if (result != NVML_SUCCESS) return -static_cast<int>(result);
    EXPECT_EQ(NVML(nvmlComputeInstanceGetInfo_v2)(instance, &info), NVML_SUCCESS);
    return static_cast<int>(info.id);
  }

  unsigned Remaining(unsigned profile) {
    unsigned count = 99;
    EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceRemainingCapacity)(gpu_, profile, &count), NVML_SUCCESS);
    return count;
  }

  // Names of the MIG devices that this process sees.
  std::vector<std::string> Devices() {
    std::vector<std::string> names;
    nvmlDevice_t device = nullptr;
    for (unsigned i = 0;
         NVML(nvmlDeviceGetMigDeviceHandleByIndex)(gpu_, i, &device) == NVML_SUCCESS; ++i) {
      char name[96] = "";
      EXPECT_EQ(NVML(nvmlDeviceGetName)(device, name, sizeof name), NVML_SUCCESS);
      names.push_back(name);
    }
    return names;
  }

  nvmlDevice_t gpu_ = nullptr;
};

using Names = std::vector<std::string>;

TEST_F(MigTest, OnlyACapableGpuHasAMode) {
  unsigned current = 9, pending = 9;
  EXPECT_EQ(NVML(nvmlDeviceGetMigMode)(gpu_, &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 1U);
  EXPECT_EQ(NVML(nvmlDeviceGetMigMode)(Device(1), &current, &pending), NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(MigTest, TheModeWaitsForProcessesAndItsChangeTakesInstancesAway) {
  EXPECT_EQ(Make(kFour), 1);
  Control([](Machine&, Gpu* gpus) {
    gpus[0].processes[0] = ProcessOf(7, 100, kCompute);
    gpus[0].process_count = 1;
  });
  nvmlReturn_t activation = NVML_SUCCESS;
  unsigned current = 9, pending = 9;
  ASSERT_EQ(NVML(nvmlDeviceSetMigMode)(gpu_, 0, &activation), NVML_SUCCESS);
  EXPECT_EQ(activation, NVML_ERROR_IN_USE);
  ASSERT_EQ(NVML(nvmlDeviceGetMigMode)(gpu_, &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 1U);
  EXPECT_EQ(pending, 0U);
  Control([](Machine&, Gpu* gpus) { gpus[0].process_count = 0; });
  SetMode(0);
  EXPECT_EQ(NVML(nvmlDeviceCreateGpuInstance)(gpu_, kFour, nullptr), NVML_ERROR_NOT_SUPPORTED);
  SetMode(1);
  EXPECT_EQ(Remaining(kFour), 1U);
}

// As the driver numbers and places them: `nvidia-smi mig -cgi 9,14,19,19` makes 2, 3, 9 and 10.
TEST_F(MigTest, InstancesGoWhereTheyLeaveMostRoomAndAreNumberedByTheirPlace) {
  EXPECT_EQ(Make(kThree), 2);
  EXPECT_EQ(Make(kTwo), 3);
  EXPECT_EQ(Make(kOne), 9);
  EXPECT_EQ(Make(kOne), 10);
  EXPECT_EQ(Make(kOne), -NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(Info(ById(2)).placement.start, 4U);
  EXPECT_EQ(Info(ById(3)).placement.size, 2U);
}

TEST_F(MigTest, SevenSmallOnesFillTheGpu) {
  for (int id : {13, 11, 12, 7, 8, 9, 10}) EXPECT_EQ(Make(kOne), id);
  for (unsigned profile : {kOne, kOneMedia, kTwo, kThree, kFour, kSeven}) {
    EXPECT_EQ(Remaining(profile), 0U) << profile;
  }
}

TEST_F(MigTest, WhatFitsBesideWhat) {
  EXPECT_EQ(Remaining(kThree), 2U);
  EXPECT_EQ(Make(kFour), 1);
  EXPECT_EQ(Remaining(kThree), 1U);
  EXPECT_EQ(Remaining(kTwo), 1U);
  EXPECT_EQ(Remaining(kOneDouble), 2U);
  EXPECT_EQ(Remaining(kOne), 3U);
  EXPECT_EQ(Remaining(kSeven), 0U);
  EXPECT_EQ(Make(kOneMedia), 13);
  EXPECT_EQ(Remaining(kOneMedia), 0U);  // there is one set of media engines
  EXPECT_EQ(Remaining(kThree), 0U);
}

TEST_F(MigTest, TheEnginesMustSufficeToo) {
  Control([](Machine&, Gpu* gpus) { gpus[0].mig_profiles[4].decoders = 3; });  // of the whole GPU
  EXPECT_EQ(Make(kThree), 2);
  EXPECT_EQ(Make(kThree), -NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(Remaining(kTwo), 1U);
}

TEST_F(MigTest, APlaceMayBeAskedFor) {
  nvmlGpuInstance_t instance = nullptr;
  auto* make = NVML(nvmlDeviceCreateGpuInstanceWithPlacement);
  nvmlGpuInstancePlacement_t place{0, 4}, odd{2, 4}, small{0, 2};
  EXPECT_EQ(make(gpu_, kThree, &odd, &instance), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(make(gpu_, kThree, &small, &instance), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(make(gpu_, kThree, &place, &instance), NVML_SUCCESS);
  EXPECT_EQ(Info(instance).id, 1U);
  EXPECT_EQ(make(gpu_, kThree, &place, &instance), NVML_ERROR_INSUFFICIENT_RESOURCES);
  unsigned count = 0;
  ASSERT_EQ(NVML(nvmlDeviceGetGpuInstancePossiblePlacements_v2)(gpu_, kTwo, nullptr, &count),
            NVML_SUCCESS);
  ASSERT_EQ(count, 3U);
  nvmlGpuInstancePlacement_t places[3];
  count = 0;  // what stood there before says nothing
  ASSERT_EQ(NVML(nvmlDeviceGetGpuInstancePossiblePlacements_v2)(gpu_, kTwo, places, &count),
            NVML_SUCCESS);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(places[2].start, 4U);
}

TEST_F(MigTest, ComputeInstancesShareAGpuInstance) {
  ASSERT_EQ(Make(kThree), 2);
  EXPECT_EQ(MakeCompute(2, 3), -NVML_ERROR_NOT_SUPPORTED);  // four slices of three
  EXPECT_EQ(MakeCompute(2, 1), 0);
  EXPECT_EQ(MakeCompute(2, 2), -NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(MakeCompute(2, 0), 1);
  EXPECT_EQ(MakeCompute(2, 0), -NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(Devices(), (Names{"Tesla T4 MIG 2c.3g.40gb", "Tesla T4 MIG 1c.3g.40gb"}));
  EXPECT_EQ(NVML(nvmlGpuInstanceDestroy)(ById(2)), NVML_ERROR_IN_USE);
  nvmlComputeInstance_t compute = nullptr;
  ASSERT_EQ(NVML(nvmlGpuInstanceGetComputeInstanceById)(ById(2), 0, &compute), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlComputeInstanceDestroy)(compute), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlComputeInstanceDestroy)(compute), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(Devices(), (Names{"Tesla T4 MIG 1c.3g.40gb"}));
}

TEST_F(MigTest, AMigDeviceTellsWhatItIsAndWhoseItIs) {
  ASSERT_EQ(Make(kOneMedia), 13);
  ASSERT_EQ(MakeCompute(13, 0), 0);
  Control([](Machine&, Gpu* gpus) {
    gpus[0].processes[0] = ProcessOf(7, 1 << 20, kCompute);
    gpus[0].processes[0].gpu_instance = 13;
    gpus[0].process_count = 1;
  });
  nvmlDevice_t device = nullptr, again = nullptr, parent = nullptr;
  ASSERT_EQ(NVML(nvmlDeviceGetMigDeviceHandleByIndex)(gpu_, 0, &device), NVML_SUCCESS);
  unsigned is = 0, gi = 0, ci = 9, value = 0;
  EXPECT_EQ(NVML(nvmlDeviceIsMigDeviceHandle)(device, &is), NVML_SUCCESS);
  EXPECT_EQ(is, 1U);
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceId)(device, &gi), NVML_SUCCESS);
  EXPECT_EQ(gi, 13U);
  EXPECT_EQ(NVML(nvmlDeviceGetComputeInstanceId)(device, &ci), NVML_SUCCESS);
  EXPECT_EQ(ci, 0U);
  nvmlDeviceAttributes_t attributes{};
  ASSERT_EQ(NVML(nvmlDeviceGetAttributes_v2)(device, &attributes), NVML_SUCCESS);
  EXPECT_EQ(attributes.multiprocessorCount, 14U);
  EXPECT_EQ(attributes.sharedOfaCount, 1U);
  EXPECT_EQ(attributes.memorySizeMB, 9856U);
  nvmlMemory_t memory{};
  ASSERT_EQ(NVML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, u64{9856} << 20);
  EXPECT_EQ(memory.used, u64{1} << 20);
  EXPECT_EQ(NVML(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)(device, &parent), NVML_SUCCESS);
  EXPECT_EQ(parent, gpu_);
  char uuid[96] = "";
  ASSERT_EQ(NVML(nvmlDeviceGetUUID)(device, uuid, sizeof uuid), NVML_SUCCESS);
  EXPECT_EQ(strlen(uuid), strlen("MIG-00000000-0000-0000-0000-000000000000"));
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUID)(uuid, &again), NVML_SUCCESS);
  EXPECT_EQ(again, device);
  EXPECT_EQ(NVML(nvmlDeviceGetTemperature)(device, NVML_TEMPERATURE_GPU, &value),
            NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(MigTest, AHandleThatWasKeptTooLongIsFoundOut) {
  ASSERT_EQ(Make(kFour), 1);
  ASSERT_EQ(MakeCompute(1, 3), 0);
  nvmlDevice_t device = nullptr;
  ASSERT_EQ(NVML(nvmlDeviceGetMigDeviceHandleByIndex)(gpu_, 0, &device), NVML_SUCCESS);
  nvmlGpuInstance_t instance = ById(1);
  Control([](Machine&, Gpu* gpus) {
    gpus[0].gpu_instances[1].used = 0;
    gpus[0].compute_instances[kMaxComputeInstances].slices = 0;
  });
  char uuid[96];
  nvmlGpuInstanceInfo_t info{};
  EXPECT_EQ(NVML(nvmlDeviceGetUUID)(device, uuid, 96), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(instance, &info), NVML_ERROR_NOT_FOUND);
}

TEST_F(MigTest, AContainerSeesTheDevicesWhoseNodesItHas) {
  for (unsigned profile : {kThree, kTwo, kOne}) {
    int id = Make(profile);
    ASSERT_GE(MakeCompute(static_cast<unsigned>(id), profile == kThree ? 2 : profile == kTwo), 0);
  }
  EXPECT_EQ(Devices().size(), 3U);
  Remove("nvidia-caps/nvidia-cap1");
  Remove("nvidia-caps/nvidia-cap2");
  EXPECT_EQ(Devices(), Names{});
  Node("nvidia-caps/nvidia-cap" + std::to_string(CapOfGpuInstance(4, 3)));
  EXPECT_EQ(Devices(), Names{});  // the GPU instance alone is not enough
  Node("nvidia-caps/nvidia-cap" + std::to_string(CapOfComputeInstance(4, 3, 0)));
  EXPECT_EQ(Devices(), (Names{"Tesla T4 MIG 2g.20gb"}));
  nvmlDevice_t device = nullptr;
  unsigned index = 9;
  ASSERT_EQ(NVML(nvmlDeviceGetMigDeviceHandleByIndex)(gpu_, 0, &device), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlDeviceGetIndex)(device, &index), NVML_SUCCESS);
  EXPECT_EQ(index, 0U);
  nvmlGpuInstance_t instance = nullptr;
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstanceById)(gpu_, 3, &instance), NVML_ERROR_NO_PERMISSION);
  EXPECT_EQ(NVML(nvmlDeviceCreateGpuInstance)(gpu_, kOne, &instance), NVML_ERROR_NO_PERMISSION);
}

TEST_F(MigTest, AChangeIsAnEvent) {
  nvmlEventSet_t set = nullptr;
  nvmlEventData_t event{};
  ASSERT_EQ(NVML(nvmlEventSetCreate)(&set), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlDeviceRegisterEvents)(Device(1), nvmlEventMigConfigChange, set),
            NVML_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(NVML(nvmlDeviceRegisterEvents)(gpu_, nvmlEventMigConfigChange, set), NVML_SUCCESS);
  ASSERT_EQ(Make(kFour), 1);
  ASSERT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 0), NVML_SUCCESS);
  EXPECT_EQ(event.eventType, static_cast<u64>(nvmlEventMigConfigChange));
  EXPECT_EQ(event.device, gpu_);
  ASSERT_EQ(Make(kSeven), -NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 0), NVML_ERROR_TIMEOUT);
  EXPECT_EQ(NVML(nvmlEventSetFree)(set), NVML_SUCCESS);
}

TEST_F(MigTest, OldDriversTellProfilesOnlyInMigMode) {
  nvmlGpuInstanceProfileInfo_t info{};
  auto* tell = NVML(nvmlDeviceGetGpuInstanceProfileInfo);
  ASSERT_EQ(tell(gpu_, NVML_GPU_INSTANCE_PROFILE_3_SLICE, &info), NVML_SUCCESS);
  EXPECT_EQ(info.id, kThree);
  EXPECT_EQ(info.memorySizeMB, 40192U);
  EXPECT_EQ(tell(gpu_, NVML_GPU_INSTANCE_PROFILE_6_SLICE, &info), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(tell(gpu_, kMigProfiles, &info), NVML_ERROR_INVALID_ARGUMENT);
  nvmlGpuInstanceProfileInfo_v2_t named{};
  auto* tell_named = NVML(nvmlDeviceGetGpuInstanceProfileInfoV);
  EXPECT_EQ(tell_named(gpu_, 7, &named), NVML_ERROR_INVALID_ARGUMENT);
  named.version = nvmlGpuInstanceProfileInfo_v2;
  ASSERT_EQ(tell_named(gpu_, 7, &named), NVML_SUCCESS);
  EXPECT_STREQ(named.name, "MIG 1g.10gb+me");
  SetMode(0);
  EXPECT_EQ(tell(gpu_, NVML_GPU_INSTANCE_PROFILE_3_SLICE, &info), NVML_ERROR_NOT_SUPPORTED);
  auto* places = NVML(nvmlDeviceGetGpuInstancePossiblePlacements_v2);
  unsigned count = 0;
  EXPECT_EQ(places(gpu_, kThree, nullptr, &count), NVML_ERROR_NOT_SUPPORTED);
  Control([](Machine& machine, Gpu*) {
    snprintf(machine.driver_version, sizeof machine.driver_version, "570.195.03");
  });
  EXPECT_EQ(tell(gpu_, NVML_GPU_INSTANCE_PROFILE_3_SLICE, &info), NVML_SUCCESS);
  EXPECT_EQ(places(gpu_, kThree, nullptr, &count), NVML_SUCCESS);
  EXPECT_EQ(count, 2U);
  nvmlFieldValue_t field{};
  field.fieldId = NVML_FI_DEV_IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE;
  ASSERT_EQ(NVML(nvmlDeviceGetFieldValues)(gpu_, 1, &field), NVML_SUCCESS);
  EXPECT_EQ(field.value.uiVal, 1U);
}

}  // namespace
}  // namespace fakegpu
