// SPDX-License-Identifier: Apache-2.0
// What the library answers about whole GPUs, and how it behaves: visibility, failures, events.
#include "library_test.h"

namespace fakegpu {
namespace {

TEST_F(FakeGpuTest, ExportsEveryFunctionOfTheHeader) {
  std::string header = ReadFile(fs::path(NVML_INCLUDE_DIR) / "nvml.h");
  std::regex name("(nvml[A-Z]\\w*)\\s*\\(");
  std::set<std::string> declared;
  for (size_t at = header.find("DECLDIR nvml"); at != std::string::npos;
       at = header.find("DECLDIR nvml", at + 1)) {
    std::smatch found;
    std::string line = header.substr(at, 200);
    if (std::regex_search(line, found, name)) declared.insert(found[1]);
  }
  EXPECT_GT(declared.size(), 350U);
  for (const std::string& one : declared) EXPECT_NE(dlsym(library_, one.c_str()), nullptr) << one;
  for (const char* newer : {"nvmlDeviceGetPdi", "nvmlDeviceGetUnrepairableMemoryFlag_v1"}) {
    EXPECT_NE(dlsym(library_, newer), nullptr) << newer;
  }
}

TEST_F(FakeGpuTest, AnswersNotSupportedWhereNothingIsWritten) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  unsigned value = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetFanSpeed)(Device(0), &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(NVML(nvmlGpmQueryIfStreamingEnabled)(Device(0), &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(NVML(nvmlDeviceGetNumaNodeId)(Device(0), &value), NVML_ERROR_NOT_SUPPORTED);
  nvmlDeviceAttributes_t attributes{};  // only MIG devices have them
  EXPECT_EQ(NVML(nvmlDeviceGetAttributes_v2)(Device(0), &attributes), NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(FakeGpuTest, WhereNothingIsWrittenTheCallIsStillChecked) {
  unsigned value = 0;
  auto* streaming = NVML(nvmlGpmQueryIfStreamingEnabled);
  EXPECT_EQ(streaming(nullptr, &value), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(NVML(nvmlSystemSetConfComputeGpusReadyState)(1), NVML_ERROR_UNINITIALIZED);
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  nvmlDevice_t lost = Device(1);
  Control([](Machine&, Gpu* gpus) { gpus[1].failure = NVML_ERROR_GPU_IS_LOST; });
  EXPECT_EQ(streaming(lost, &value), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(streaming(nullptr, &value), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(NVML(nvmlSystemSetConfComputeGpusReadyState)(1), NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(FakeGpuTest, HasNothingThatWantsALicense) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  nvmlGridLicensableFeatures_t features{};
  features.isGridLicenseSupported = 1;
  features.licensableFeaturesCount = 3;
  ASSERT_EQ(NVML(nvmlDeviceGetGridLicensableFeatures_v4)(Device(0), &features), NVML_SUCCESS);
  EXPECT_EQ(features.isGridLicenseSupported, 0);
  EXPECT_EQ(features.licensableFeaturesCount, 0U);
}

TEST_F(FakeGpuTest, ShowsOnlyGpusWhoseNodeIsThereAndNumbersThemAnew) {
  Remove("nvidia5");
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  ASSERT_EQ(Count(), 2U);
  unsigned minor = 0, index = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetMinorNumber)(Device(1), &minor), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlDeviceGetIndex)(Device(1), &index), NVML_SUCCESS);
  EXPECT_EQ(minor, 6U);
  EXPECT_EQ(index, 1U);
  nvmlDevice_t hidden = nullptr;
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUID)("GPU-00000000-0000-0000-0000-000000000001", &hidden),
            NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByPciBusId_v2)("00000000:12:00.0", &hidden), NVML_SUCCESS);
  EXPECT_EQ(hidden, Device(1));
}

TEST_F(FakeGpuTest, WithoutAnyGpuNodeThereAreNone) {
  for (const char* name : {"nvidia4", "nvidia5", "nvidia6"}) Remove(name);
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  EXPECT_EQ(Count(), 0U);
}

TEST_F(FakeGpuTest, NeedsTheControlNodeAndTheDriver) {
  Remove("nvidiactl");
  EXPECT_EQ(NVML(nvmlInit_v2)(), NVML_ERROR_DRIVER_NOT_LOADED);
  Node("nvidiactl");
  Control([](Machine& machine, Gpu*) { machine.driver_loaded = 0; });
  EXPECT_EQ(NVML(nvmlInit_v2)(), NVML_ERROR_DRIVER_NOT_LOADED);
  Control([](Machine& machine, Gpu*) { machine.driver_loaded = 1; });
  EXPECT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
}

TEST_F(FakeGpuTest, LibraryWithoutMachineIsADriverThatIsNotLoaded) {
  dlclose(library_);
  fs::copy_file(FAKEGPU_LIBRARY, path_, fs::copy_options::overwrite_existing);
  Load();
  EXPECT_EQ(NVML(nvmlInit_v2)(), NVML_ERROR_DRIVER_NOT_LOADED);
}

TEST_F(FakeGpuTest, CountsInitialisations) {
  char version[80];
  EXPECT_EQ(NVML(nvmlSystemGetDriverVersion)(version, 80), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(NVML(nvmlShutdown)(), NVML_ERROR_UNINITIALIZED);
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  ASSERT_EQ(NVML(nvmlInitWithFlags)(0), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlShutdown)(), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlSystemGetDriverVersion)(version, 80), NVML_SUCCESS);
  EXPECT_STREQ(version, "535.261.03");
  EXPECT_EQ(NVML(nvmlSystemGetDriverVersion)(version, 10), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(NVML(nvmlShutdown)(), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlSystemGetDriverVersion)(version, 80), NVML_ERROR_UNINITIALIZED);
}

TEST_F(FakeGpuTest, SeesWhatTheToolWritesAtOnce) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  nvmlDevice_t device = Device(1);
  Control([](Machine&, Gpu* gpus) { gpus[1].temperature = 83; });
  unsigned temperature = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetTemperature)(device, NVML_TEMPERATURE_GPU, &temperature),
            NVML_SUCCESS);
  EXPECT_EQ(temperature, 83U);
}

TEST_F(FakeGpuTest, ChecksTheVersionOfStructures) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  nvmlMemory_v2_t memory{};
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryInfo_v2)(Device(0), &memory),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  memory.version = nvmlMemory_v2;
  ASSERT_EQ(NVML(nvmlDeviceGetMemoryInfo_v2)(Device(0), &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.free, u64{15} << 30);
  nvmlMemory_t old{};
  ASSERT_EQ(NVML(nvmlDeviceGetMemoryInfo)(Device(0), &old), NVML_SUCCESS);
  EXPECT_EQ(old.used, u64{1} << 30);
}

TEST_F(FakeGpuTest, MoreThanThereIsCannotBeUsed) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  Control([](Machine&, Gpu* gpus) {
    gpus[0].memory_used = u64{20} << 30;
    gpus[0].bar1_total = 256;
    gpus[0].bar1_used = 257;
  });
  nvmlMemory_v2_t memory{};
  memory.version = nvmlMemory_v2;
  ASSERT_EQ(NVML(nvmlDeviceGetMemoryInfo_v2)(Device(0), &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.used, u64{15} << 30);
  EXPECT_EQ(memory.free, 0U);
  nvmlBAR1Memory_t bar1{};
  ASSERT_EQ(NVML(nvmlDeviceGetBAR1MemoryInfo)(Device(0), &bar1), NVML_SUCCESS);
  EXPECT_EQ(bar1.bar1Free, 0U);
}

TEST_F(FakeGpuTest, WhoDrawsAnUnknownPowerUsesAnUnknownEnergy) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  Control([](Machine&, Gpu* gpus) { gpus[0].energy_time = 1; });
  unsigned long long energy = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetTotalEnergyConsumption)(Device(0), &energy), NVML_SUCCESS);
  Control([](Machine&, Gpu* gpus) { gpus[0].power = kUnknown32; });
  EXPECT_EQ(NVML(nvmlDeviceGetTotalEnergyConsumption)(Device(0), &energy),
            NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(FakeGpuTest, AnswersOnlyWhatItsArchitectureHas) {
  constexpr u32 kGa100 = NVML_DEVICE_ARCH_AMPERE, kAda = NVML_DEVICE_ARCH_ADA;
  for (auto [architecture, minor, average, limit] :
       {std::tuple{u32{NVML_DEVICE_ARCH_TURING}, 5U, false, false},
        {kGa100, 0U, false, false},
        {kGa100, 6U, true, false},
        {kAda, 9U, true, true}}) {
    Control([&](Machine&, Gpu* gpus) {
      gpus[0].architecture = architecture;
      gpus[0].compute_minor = minor;
      gpus[0].temperature_gpu_max = 87;
      gpus[0].temperature_shutdown = 92;
      gpus[0].temperature_memory_max = kUnknown32;
    });
    ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
    nvmlFieldValue_t fields[4]{};
    fields[0].fieldId = NVML_FI_DEV_POWER_AVERAGE;
    fields[1].fieldId = NVML_FI_DEV_POWER_INSTANT;
    fields[2].fieldId = NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT;
    fields[3].fieldId = NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT;
    ASSERT_EQ(NVML(nvmlDeviceGetFieldValues)(Device(0), 4, fields), NVML_SUCCESS);
    EXPECT_EQ(fields[0].nvmlReturn == NVML_SUCCESS, average) << architecture << "." << minor;
    EXPECT_EQ(fields[1].nvmlReturn, NVML_SUCCESS);
    EXPECT_EQ(fields[2].nvmlReturn == NVML_SUCCESS, limit) << architecture;
    EXPECT_EQ(fields[3].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
    nvmlMarginTemperature_t margin{};
    margin.version = nvmlMarginTemperature_v1;
    EXPECT_EQ(NVML(nvmlDeviceGetMarginTemperature)(Device(0), &margin) == NVML_SUCCESS, limit);
    if (limit) {
      EXPECT_EQ(fields[2].valueType, NVML_VALUE_TYPE_SIGNED_INT);
      EXPECT_EQ(fields[2].value.siVal, -5);
      EXPECT_EQ(margin.marginTemperature, 47);
    }
  }
}

TEST_F(FakeGpuTest, AFailingGpuFailsAloneAndRecovers) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  nvmlDevice_t good = Device(0), bad = Device(1), found = nullptr;
  Control([](Machine&, Gpu* gpus) { gpus[1].failure = NVML_ERROR_GPU_IS_LOST; });
  char uuid[96];
  EXPECT_EQ(NVML(nvmlDeviceGetUUID)(bad, uuid, 96), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByIndex_v2)(1, &found), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(NVML(nvmlDeviceGetUUID)(good, uuid, 96), NVML_SUCCESS);
  EXPECT_EQ(Count(), kGpus);
  Control([](Machine&, Gpu* gpus) {
    gpus[1].failure = NVML_ERROR_UNKNOWN;
    snprintf(gpus[1].failing_call, sizeof gpus[1].failing_call, "nvmlDeviceGetTopology");
  });
  nvmlGpuTopologyLevel_t level{};
  EXPECT_EQ(NVML(nvmlDeviceGetUUID)(bad, uuid, 96), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlDeviceGetTopologyCommonAncestor)(good, bad, &level), NVML_ERROR_UNKNOWN);
  Control([](Machine&, Gpu* gpus) { gpus[1].failure = 0; });
  EXPECT_EQ(NVML(nvmlDeviceGetTopologyCommonAncestor)(good, bad, &level), NVML_SUCCESS);
  EXPECT_EQ(level, NVML_TOPOLOGY_SINGLE);
}

TEST_F(FakeGpuTest, OneOfSeveralCallsMayFail) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  nvmlDevice_t device = Device(2);
  Control([](Machine&, Gpu* gpus) {
    gpus[2].failure = NVML_ERROR_IN_USE;
    gpus[2].failing_number = 2;
    snprintf(gpus[2].failing_call, sizeof gpus[2].failing_call, "nvmlDeviceGetMinor");
  });
  unsigned value = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetMinorNumber)(device, &value), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlDeviceGetTemperature)(device, NVML_TEMPERATURE_GPU, &value), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlDeviceGetMinorNumber)(device, &value), NVML_ERROR_IN_USE);
  EXPECT_EQ(NVML(nvmlDeviceGetMinorNumber)(device, &value), NVML_SUCCESS);
}

TEST_F(FakeGpuTest, AHangingCallWaitsUntilItIsLetGo) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  nvmlDevice_t device = Device(2);
  Control(
      [](Machine&, Gpu* gpus) { snprintf(gpus[2].hanging_call, 64, "nvmlDeviceGetPowerUsage"); });
  unsigned value = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetTemperature)(device, NVML_TEMPERATURE_GPU, &value), NVML_SUCCESS);
  auto* power = NVML(nvmlDeviceGetPowerUsage);
  auto call = std::async(std::launch::async, [&] { return power(device, &value); });
  EXPECT_EQ(call.wait_for(milliseconds(200)), std::future_status::timeout);
  Control([](Machine&, Gpu* gpus) { gpus[2].hanging_call[0] = '\0'; });
  ASSERT_EQ(call.wait_for(milliseconds(2000)), std::future_status::ready);
  EXPECT_EQ(call.get(), NVML_SUCCESS);
  EXPECT_EQ(value, 9000U);
}

TEST_F(FakeGpuTest, DeliversEventsToWhoRegisteredAndOnlyLaterOnes) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  nvmlEventSet_t set = nullptr;
  nvmlEventData_t event{};
  ASSERT_EQ(NVML(nvmlEventSetCreate)(&set), NVML_SUCCESS);
  RaiseXid(1, 31);  // before anyone asked for it
  ASSERT_EQ(NVML(nvmlDeviceRegisterEvents)(Device(1), nvmlEventTypeXidCriticalError, set),
            NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 0), NVML_ERROR_TIMEOUT);
  RaiseXid(0, 48);  // another GPU's
  RaiseXid(1, 79);
  RaiseXid(1, 94);
  ASSERT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 0), NVML_SUCCESS);
  EXPECT_EQ(event.eventData, 79U);
  EXPECT_EQ(event.device, Device(1));
  EXPECT_EQ(event.eventType, static_cast<u64>(nvmlEventTypeXidCriticalError));
  EXPECT_EQ(event.gpuInstanceId, 0xffffffffU);
  ASSERT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 0), NVML_SUCCESS);
  EXPECT_EQ(event.eventData, 94U);
  for (u32 i = 0; i < 2 * kEventSlots; ++i)
    RaiseXid(1, i);  // more than the ring holds: the oldest are lost
  for (u32 i = 0; i < kEventSlots; ++i) {
    ASSERT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 0), NVML_SUCCESS);
    EXPECT_EQ(event.eventData, kEventSlots + i);
  }
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 0), NVML_ERROR_TIMEOUT);
  EXPECT_EQ(NVML(nvmlEventSetFree)(set), NVML_SUCCESS);
}

TEST_F(FakeGpuTest, WakesAWaiterInAnotherProcessThatHasTheLibraryReadOnly) {
  ASSERT_EQ(mount(path_.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(mount(nullptr, path_.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t waiter = fork();
  if (waiter == 0) {
    nvmlEventSet_t set = nullptr;
    nvmlEventData_t event{};
    bool good = NVML(nvmlInit_v2)() == NVML_SUCCESS &&
                NVML(nvmlEventSetCreate)(&set) == NVML_SUCCESS &&
                NVML(nvmlDeviceRegisterEvents)(Device(0), nvmlEventTypeXidCriticalError, set) ==
                    NVML_SUCCESS;
    good = good && write(ready[1], "", 1) == 1;
    auto start = steady_clock::now();
    good = good && NVML(nvmlEventSetWait_v2)(set, &event, 10000) == NVML_SUCCESS &&
           event.eventData == 79;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    good = good && steady_clock::now() - start < milliseconds(5000) &&
           usage.ru_nivcsw + usage.ru_nvcsw < 100;
    _exit(good ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  std::this_thread::sleep_for(milliseconds(300));  // it waits now
  ASSERT_EQ(umount2(path_.c_str(), MNT_DETACH), 0);
  RaiseXid(0, 79);
  int status = -1;
  ASSERT_EQ(waitpid(waiter, &status, 0), waiter);
  EXPECT_EQ(status, 0);
}

TEST_F(FakeGpuTest, ListsProcessesByKindAndSaysHowMuchRoomItNeeds) {
  Control([](Machine&, Gpu* gpus) {
    gpus[0].processes[0] = ProcessOf(7, 100, kCompute);
    gpus[0].processes[1] = ProcessOf(8, 200, kGraphics);
    gpus[0].processes[2] = ProcessOf(9, 300, kCompute);
    gpus[0].process_count = 3;
  });
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  unsigned count = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetComputeRunningProcesses_v3)(Device(0), &count, nullptr),
            NVML_ERROR_INSUFFICIENT_SIZE);
  ASSERT_EQ(count, 2U);
  nvmlProcessInfo_t processes[2];
  ASSERT_EQ(NVML(nvmlDeviceGetComputeRunningProcesses_v3)(Device(0), &count, processes),
            NVML_SUCCESS);
  EXPECT_EQ(processes[1].pid, 9U);
  EXPECT_EQ(processes[1].usedGpuMemory, 300U);
}

TEST_F(FakeGpuTest, SamplesAreOfNowAndOfWhatIsBusy) {
  Control([](Machine&, Gpu* gpus) {
    gpus[0].processes[0] = ProcessOf(7, 100, kCompute);
    gpus[0].processes[1] = ProcessOf(8, 200, kCompute);
    gpus[0].processes[1].sm_utilization = 40;
    gpus[0].process_count = 2;
    gpus[0].utilization_gpu = 41;
  });
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  nvmlDevice_t device = Device(0);
  auto* processes = NVML(nvmlDeviceGetProcessUtilization);
  auto* values = NVML(nvmlDeviceGetSamples);
  const auto now = static_cast<u64>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
  nvmlProcessUtilizationSample_t sample{};
  unsigned count = 0;
  EXPECT_EQ(processes(device, nullptr, &count, 0), NVML_ERROR_INSUFFICIENT_SIZE);
  ASSERT_EQ(count, 1U);
  ASSERT_EQ(processes(device, &sample, &count, 0), NVML_SUCCESS);
  EXPECT_EQ(sample.pid, 8U);
  EXPECT_GE(sample.timeStamp, now);
  u64 later = now + u64{3600} * 1000000;
  EXPECT_EQ(processes(device, &sample, &count, later), NVML_ERROR_NOT_FOUND);
  nvmlSample_t value{};
  nvmlValueType_t type{};
  ASSERT_EQ(values(device, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count, nullptr), NVML_SUCCESS);
  ASSERT_EQ(values(device, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count, &value), NVML_SUCCESS);
  EXPECT_EQ(type, NVML_VALUE_TYPE_UNSIGNED_INT);
  EXPECT_EQ(value.sampleValue.uiVal, 41U);
  EXPECT_GE(value.timeStamp, now);
  EXPECT_EQ(values(device, NVML_GPU_UTILIZATION_SAMPLES, later, &type, &count, &value),
            NVML_ERROR_NOT_FOUND);
  Control([](Machine&, Gpu* gpus) { gpus[0].mig = 1; });
  EXPECT_EQ(processes(device, &sample, &count, 0), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(values(device, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count, &value),
            NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(values(device, NVML_TOTAL_POWER_SAMPLES, 0, &type, &count, &value), NVML_SUCCESS);
}

TEST_F(FakeGpuTest, KnowsItsLinks) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  nvmlIntNvLinkDeviceType_t kind{};
  nvmlPciInfo_t far{};
  ASSERT_EQ(NVML(nvmlDeviceGetNvLinkRemoteDeviceType)(Device(0), 0, &kind), NVML_SUCCESS);
  EXPECT_EQ(kind, NVML_NVLINK_DEVICE_TYPE_SWITCH);
  ASSERT_EQ(NVML(nvmlDeviceGetNvLinkRemotePciInfo_v2)(Device(0), 1, &far), NVML_SUCCESS);
  EXPECT_STREQ(far.busId, "00000000:12:00.0");
  nvmlEnableState_t active{};
  EXPECT_EQ(NVML(nvmlDeviceGetNvLinkState)(Device(0), 2, &active), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(NVML(nvmlDeviceGetNvLinkState)(Device(0), 18, &active), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(FakeGpuTest, SettingsNeedALibraryThatMayBeWritten) {
  ASSERT_EQ(mount(path_.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(mount(nullptr, path_.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0);
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlDeviceSetPowerManagementLimit)(Device(0), 65000), NVML_ERROR_NO_PERMISSION);
  ASSERT_EQ(umount2(path_.c_str(), MNT_DETACH), 0);
  EXPECT_EQ(NVML(nvmlDeviceSetPowerManagementLimit)(Device(0), 65000), NVML_SUCCESS);
  EXPECT_EQ(NVML(nvmlDeviceSetPowerManagementLimit)(Device(0), 5), NVML_ERROR_INVALID_ARGUMENT);
  unsigned limit = 0;
  ASSERT_EQ(NVML(nvmlDeviceGetPowerManagementLimit)(Device(0), &limit), NVML_SUCCESS);
  EXPECT_EQ(limit, 65000U);
  EXPECT_EQ(NVML(nvmlDeviceSetApplicationsClocks)(Device(0), 1, 1), NVML_ERROR_INVALID_ARGUMENT);
  unsigned memory = 0, count = 1;
  ASSERT_EQ(NVML(nvmlDeviceGetSupportedMemoryClocks)(Device(0), &count, &memory), NVML_SUCCESS);
  std::vector<unsigned> clocks;
  count = 0;
  ASSERT_EQ(NVML(nvmlDeviceGetSupportedGraphicsClocks)(Device(0), memory, &count, nullptr),
            NVML_ERROR_INSUFFICIENT_SIZE);
  clocks.resize(count);
  ASSERT_EQ(NVML(nvmlDeviceGetSupportedGraphicsClocks)(Device(0), memory, &count, clocks.data()),
            NVML_SUCCESS);
  EXPECT_GT(count, 10U);
  for (const unsigned clock : clocks) {
    EXPECT_EQ(NVML(nvmlDeviceSetApplicationsClocks)(Device(0), memory, clock), NVML_SUCCESS);
  }
}

TEST_F(FakeGpuTest, ASwitchIsOnOrOff) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  for (const char* name :
       {"nvmlDeviceSetPersistenceMode", "nvmlDeviceSetEccMode", "nvmlDeviceSetAccountingMode"}) {
    auto* set = Find<nvmlReturn_t(nvmlDevice_t, unsigned)>(name);  // a C caller may pass anything
    EXPECT_EQ(set(Device(0), 2), NVML_ERROR_INVALID_ARGUMENT) << name;
    EXPECT_EQ(set(Device(0), NVML_FEATURE_ENABLED), NVML_SUCCESS) << name;
  }
}

TEST_F(FakeGpuTest, AccountingHasSeenNoProcess) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  nvmlAccountingStats_t stats{};
  auto* of = NVML(nvmlDeviceGetAccountingStats);
  EXPECT_EQ(of(Device(0), 7, &stats), NVML_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(NVML(nvmlDeviceSetAccountingMode)(Device(0), NVML_FEATURE_ENABLED), NVML_SUCCESS);
  EXPECT_EQ(of(Device(0), 7, &stats), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(NVML(nvmlDeviceClearAccountingPids)(Device(0)), NVML_SUCCESS);
}

TEST_F(FakeGpuTest, InitialisesInAMillisecond) {
  auto best = std::chrono::nanoseconds::max();
  for (int attempt = 0; attempt < 10; ++attempt) {
    auto start = steady_clock::now();
    ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
    best = std::min<std::chrono::nanoseconds>(best, steady_clock::now() - start);
    ASSERT_EQ(NVML(nvmlShutdown)(), NVML_SUCCESS);
  }
  EXPECT_LT(best, milliseconds(1));
}

}  // namespace
}  // namespace fakegpu
