// SPDX-License-Identifier: Apache-2.0
// The library as its users load it: by dlopen, from a file with a machine in its tail, in a mount
// namespace whose /dev is the test's own. The machine is written here by hand, through the same
// structures.
#pragma once
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
#include <tuple>

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include "library/mig_rules.h"

namespace fakegpu {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

inline constexpr u32 kGpus = 3;

inline std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline Link LinkTo(u32 kind, u32 bus) {
  Link link{};
  link.active = 1;
  link.version = 3;
  link.speed = 25781;
  link.remote_kind = kind;
  link.remote_bus = bus;
  return link;
}

inline Process ProcessOf(u32 pid, u64 memory, u32 kind) {
  Process process{};
  process.pid = pid;
  process.memory = memory;
  process.kind = kind;
  return process;
}

// An A100-80.
inline void DescribeMig(Gpu& gpu) {
  struct Row {
    u32 profile, id, slices, most, memory, decoders, ofa, size, starts;
    const char* name;
  };
  constexpr Row kRows[] = {{0, 19, 1, 7, 9856, 0, 0, 1, 0x7f, "1g.10gb"},
                           {7, 20, 1, 1, 9856, 1, 1, 1, 0x7f, "1g.10gb+me"},
                           {9, 15, 1, 4, 19968, 1, 0, 2, 0x55, "1g.20gb"},
                           {1, 14, 2, 3, 19968, 1, 0, 2, 0x15, "2g.20gb"},
                           {2, 9, 3, 2, 40192, 2, 0, 4, 0x11, "3g.40gb"},
                           {3, 5, 4, 1, 40192, 2, 0, 4, 0x01, "4g.40gb"},
                           {4, 0, 7, 1, 80384, 5, 1, 8, 0x01, "7g.80gb"}};
  gpu.mig_compute_slices = 7;
  gpu.mig_memory_slices = 8;
  for (const Row& row : kRows) {
    MigProfile& profile = gpu.mig_profiles[row.profile];
    profile.id = row.id;
    profile.slices = row.slices;
    profile.most = row.most;
    profile.memory = row.memory;
    profile.decoders = row.decoders;
    profile.ofa_engines = row.ofa;
    profile.multiprocessors = 14 * row.slices;
    profile.size = row.size;
    profile.starts = row.starts;
    snprintf(profile.name, sizeof profile.name, "%s", row.name);
  }
}

inline void Describe(Gpu& gpu, u32 position) {
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
  gpu.clock_graphics_max = 1590;
  gpu.clock_memory_max = 5001;
  gpu.application_graphics_default = 585;
  gpu.fan = kUnknown32;
  gpu.ecc = gpu.ecc_pending = 1;
  gpu.mig_capable = position == 0;
  if (position == 0) DescribeMig(gpu);
  gpu.fabric_state = kUnknown32;
  gpu.link_count = 2;
  gpu.links[0] = LinkTo(NVML_NVLINK_DEVICE_TYPE_SWITCH, 0xe0);
  gpu.links[1] = LinkTo(NVML_NVLINK_DEVICE_TYPE_GPU, 0x12);
}

// The built library with a machine of three GPUs appended.
inline std::string WithMachine() {
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

  static void Node(const std::string& name) {
    fs::create_directories(fs::path("/dev/" + name).parent_path());
    std::ofstream{"/dev/" + name};
  }
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

}  // namespace fakegpu
