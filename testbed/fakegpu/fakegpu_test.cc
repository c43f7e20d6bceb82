// SPDX-License-Identifier: Apache-2.0
// The library as its users load it: by dlopen, from a file with a machine in its tail, in a mount
// namespace whose /dev is the test's own. The machine is written here by hand, through the same
// structures.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <thread>

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include "library/state.h"

namespace fakegpu {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr u32 kGpus = 3;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Link LinkTo(u32 kind, u32 bus) {
  Link link{};
  link.active = 1;
  link.version = 3;
  link.speed = 25781;
  link.remote_kind = kind;
  link.remote_bus = bus;
  return link;
}

Process ProcessOf(u32 pid, u64 memory, u32 kind) {
  Process process{};
  process.pid = pid;
  process.memory = memory;
  process.kind = kind;
  return process;
}

void Describe(Gpu& gpu, u32 position) {
  snprintf(gpu.name, sizeof gpu.name, "Tesla T4");
  snprintf(gpu.uuid, sizeof gpu.uuid, "GPU-00000000-0000-0000-0000-00000000000%u", position);
  gpu.minor = position + 4;  // not its index
  gpu.pci_bus = 0x10 + position;
  gpu.memory_total = u64{16} << 30;
  gpu.memory_reserved = u64{1} << 30;
  gpu.temperature = 40;
  gpu.power = 9000;
  gpu.power_limit = 70000;
  gpu.power_min = 60000;
  gpu.power_max = 70000;
  gpu.fan = kUnknown32;
  gpu.ecc = gpu.ecc_pending = 1;
  gpu.mig_capable = position == 0;
  gpu.fabric_state = kUnknown32;
  gpu.link_count = 2;
  gpu.links[0] = LinkTo(NVML_NVLINK_DEVICE_TYPE_SWITCH, 0xe0);
  gpu.links[1] = LinkTo(NVML_NVLINK_DEVICE_TYPE_GPU, 0x12);
}

// The built library with a machine of three GPUs appended.
std::string WithMachine() {
  std::string file = ReadFile(FAKEGPU_LIBRARY);
  constexpr size_t kPage = 4096;
  file.resize((file.size() + kPage - 1) / kPage * kPage);
  size_t first = (sizeof(Machine) + kPage - 1) / kPage * kPage;
  std::string tail(first + kGpus * sizeof(Gpu), '\0');
  auto machine = std::make_unique<Machine>();
  machine->magic = kMagic;
  machine->layout_version = kLayoutVersion;
  machine->gpu_count = kGpus;
  machine->size = tail.size() + sizeof(Trailer);
  machine->gpus_offset = first;
  machine->driver_loaded = 1;
  machine->cuda_version = 12020;
  snprintf(machine->driver_version, sizeof machine->driver_version, "535.261.03");
  machine->topology[0 * kMaxGpus + 1] = machine->topology[1 * kMaxGpus + 0] = NVML_TOPOLOGY_SINGLE;
  machine->topology[0 * kMaxGpus + 2] = machine->topology[2 * kMaxGpus + 0] = NVML_TOPOLOGY_SYSTEM;
  std::memcpy(tail.data(), machine.get(), sizeof *machine);
  for (u32 i = 0; i < kGpus; ++i) {
    auto gpu = std::make_unique<Gpu>();
    Describe(*gpu, i);
    std::memcpy(tail.data() + first + i * sizeof(Gpu), gpu.get(), sizeof(Gpu));
  }
  Trailer trailer{file.size(), kMagic};
  return file + tail + std::string(reinterpret_cast<const char*>(&trailer), sizeof trailer);
}

class FakeGpuTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(unshare(CLONE_NEWNS), 0) << "needs root";
    ASSERT_EQ(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  }

  void SetUp() override {
    ASSERT_EQ(mount("tmpfs", "/dev", "tmpfs", 0, nullptr), 0);
    for (const char* name : {"nvidiactl", "nvidia4", "nvidia5", "nvidia6"}) Node(name);
    folder_ = fs::temp_directory_path() / ("fakegpu-test-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    path_ = folder_ / "libnvidia-ml.so.1";
    std::ofstream(path_, std::ios::binary) << WithMachine();
    Load();
  }

  void TearDown() override {
    if (library_ != nullptr) dlclose(library_);
    umount2("/dev", MNT_DETACH);
    fs::remove_all(folder_);
  }

  static void Node(const std::string& name) { std::ofstream{"/dev/" + name}; }
  static void Remove(const std::string& name) { fs::remove("/dev/" + name); }

  void Load() {
    library_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }

  template <class Function>
  Function* Find(const char* name) {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }
#define NVML(name) Find<decltype(::name)>(#name)

  // The machine as the tool has it, to be changed; `change` is seen by everyone at once.
  template <class Change>
  void Control(Change change) {
    int file = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    Trailer trailer{};
    off_t end = lseek(file, 0, SEEK_END);
    ASSERT_EQ(pread(file, &trailer, sizeof trailer, end - off_t{sizeof trailer}),
              ssize_t{sizeof trailer});
    size_t size = static_cast<size_t>(end) - trailer.offset;
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                        static_cast<off_t>(trailer.offset));
    close(file);
    ASSERT_NE(memory, MAP_FAILED);
    auto* machine = static_cast<Machine*>(memory);
    auto* gpus = reinterpret_cast<Gpu*>(static_cast<char*>(memory) + machine->gpus_offset);
    change(*machine, gpus);
    __atomic_add_fetch(&machine->wake, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &machine->wake, FUTEX_WAKE, 1000, nullptr, nullptr, 0);
    munmap(memory, size);
  }

  void RaiseXid(u32 gpu, u64 xid) {
    Control([&](Machine& machine, Gpu*) {
      machine.events[machine.event_count % kEventSlots] = {
          nvmlEventTypeXidCriticalError, xid, gpu, kUnknown32, kUnknown32, 0};
      __atomic_add_fetch(&machine.event_count, 1, __ATOMIC_RELEASE);
    });
  }

  nvmlDevice_t Device(unsigned index) {
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(NVML(nvmlDeviceGetHandleByIndex_v2)(index, &device), NVML_SUCCESS);
    return device;
  }

  unsigned Count() {
    unsigned count = 99;
    EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
    return count;
  }

  fs::path folder_, path_;
  void* library_ = nullptr;
};

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
}

TEST_F(FakeGpuTest, AnswersNotSupportedWhereNothingIsWritten) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  unsigned value = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetFanSpeed)(Device(0), &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(NVML(nvmlGpmQueryIfStreamingEnabled)(Device(0), &value), NVML_ERROR_NOT_SUPPORTED);
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
}

TEST_F(FakeGpuTest, OnlyACapableGpuHasAMigMode) {
  ASSERT_EQ(NVML(nvmlInit_v2)(), NVML_SUCCESS);
  unsigned current = 9, pending = 9;
  EXPECT_EQ(NVML(nvmlDeviceGetMigMode)(Device(0), &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 0U);
  EXPECT_EQ(NVML(nvmlDeviceGetMigMode)(Device(1), &current, &pending), NVML_ERROR_NOT_SUPPORTED);
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
