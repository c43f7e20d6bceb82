// SPDX-License-Identifier: Apache-2.0
// Answers: which machine is this, and which of its GPUs may this process see?
// From: the tail of the library's own file, which it finds by its own load address, and /dev.
//
// NVIDIA's library hides a GPU whose /dev/nvidia<minor> cannot be opened and numbers the rest from
// 0; that is how a container comes to see only what it was given. It keeps the nodes open as long
// as it is initialised, so that whoever looks for users of a GPU finds them; so do we.
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct nvmlDevice_st {
  fakegpu::u32 position;
  fakegpu::u32 index;  // of a MIG device: its slot in Gpu::compute_instances
  int node;            // of a MIG device: none
};

namespace fakegpu {
namespace {

constexpr u32 kMigSlots = kMaxGpuInstances * kMaxComputeInstances;
constexpr int64_t kFollowLimit = 2000;  // milliseconds; capabilities.cc needs one

struct Session {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
  int users = 0;
  int control_node = -1;
  const char* base = nullptr;  // of the machine, mapped to read
  char* writable = nullptr;    // the same, mapped to write, once someone wanted that
  int write_file = -1;         // open as long as writable is
  size_t size = 0;
  off_t offset = 0;
  u32 visible = 0;
  nvmlDevice_st devices[kMaxGpus];
  nvmlDevice_st mig_devices[kMaxGpus][kMigSlots];  // by the GPU's index; written when handed out
};

// What NVML keeps for a process: its interface has no handle for it.
Session& Own() {
  static Session session;
  return session;
}

class Lock {
 public:
  Lock() { pthread_mutex_lock(&Own().mutex); }
  ~Lock() { pthread_mutex_unlock(&Own().mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

// Opens the loaded object that this code lies in. dladdr would be shorter, but binds to a glibc of
// 2021, and containers have older ones.
struct OwnFile {
  int flags;
  int file;
};

int OpenIfOwn(dl_phdr_info* object, size_t, void* wanted) {
  auto* own = static_cast<OwnFile*>(wanted);
  auto address = reinterpret_cast<uintptr_t>(&Own());
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    uintptr_t start = object->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || address < start || address >= start + part.p_memsz) continue;
    own->file = open(object->dlpi_name, own->flags | O_CLOEXEC);
    return 1;
  }
  return 0;
}

int OpenOwnFile(int flags) {
  OwnFile own{flags, -1};
  dl_iterate_phdr(OpenIfOwn, &own);
  return own.file;
}

nvmlReturn_t Map() {
  if (Own().base != nullptr) return NVML_SUCCESS;
  int file = OpenOwnFile(O_RDONLY);
  if (file < 0) return NVML_ERROR_LIBRARY_NOT_FOUND;
  off_t end = lseek(file, 0, SEEK_END);
  Trailer trailer{};
  nvmlReturn_t result = NVML_ERROR_DRIVER_NOT_LOADED;  // a library that no machine was given to
  if (end > off_t{sizeof trailer} &&
      pread(file, &trailer, sizeof trailer, end - off_t{sizeof trailer}) ==
          ssize_t{sizeof trailer} &&
      trailer.magic == kMagic) {
    Own().offset = static_cast<off_t>(trailer.offset);
    Own().size = static_cast<size_t>(end - Own().offset);
    void* memory = mmap(nullptr, Own().size, PROT_READ, MAP_SHARED, file, Own().offset);
    if (memory != MAP_FAILED) {
      const auto* machine = static_cast<const Machine*>(memory);
      if (machine->magic == kMagic && machine->layout_version == kLayoutVersion) {
        Own().base = static_cast<const char*>(memory);
        result = NVML_SUCCESS;
      } else {
        munmap(memory, Own().size);
        result = NVML_ERROR_LIB_RM_VERSION_MISMATCH;
      }
    }
  }
  close(file);
  return result;
}

const Machine& Mapped() { return *reinterpret_cast<const Machine*>(Own().base); }

nvmlReturn_t OpenControlNode() {
  Own().control_node = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
  if (Own().control_node >= 0) return NVML_SUCCESS;
  if (errno == EACCES) return NVML_ERROR_NO_PERMISSION;
  return errno == EPERM ? NVML_ERROR_UNKNOWN : NVML_ERROR_DRIVER_NOT_LOADED;
}

void OpenVisible() {
  Own().visible = 0;
  for (u32 position = 0; position < Mapped().gpu_count; ++position) {
    char path[32];
    snprintf(path, sizeof path, "/dev/nvidia%u", GpuAt(position).minor);
    int node = open(path, O_RDWR | O_CLOEXEC);
    if (node < 0) continue;
    Own().devices[Own().visible] = {position, Own().visible, node};
    ++Own().visible;
  }
}

bool Matches(const char* pattern, const char* call) {
  return std::strncmp(call, pattern, std::strlen(pattern)) == 0;
}

bool Hangs(const char* call, const Gpu& gpu) {
  return gpu.hanging_call[0] == '*' ||
         (gpu.hanging_call[0] != '\0' && Matches(gpu.hanging_call, call));
}

// Whether a call that matches is the one that is meant: any, or this process's Nth on this GPU.
bool IsMeant(u32 number, u32& seen) {
  return number == 0 || __atomic_add_fetch(&seen, 1, __ATOMIC_ACQ_REL) == number;
}

// How many matching calls this process has made.
struct Seen {
  u32 failing;
  u32 hanging;
};
Seen& SeenOn(const Gpu& gpu) {
  static Seen seen[kMaxGpus];
  return seen[&gpu - &GpuAt(0)];
}

}  // namespace

const Gpu& GpuAt(u32 position) {
  return reinterpret_cast<const Gpu*>(Own().base + Mapped().gpus_offset)[position];
}

nvmlReturn_t Open() {
  Lock lock;
  if (Own().users > 0) {
    ++Own().users;
    return NVML_SUCCESS;
  }
  if (nvmlReturn_t no = Map(); no != NVML_SUCCESS) return no;
  if (__atomic_load_n(&Mapped().driver_loaded, __ATOMIC_ACQUIRE) == 0) {
    return NVML_ERROR_DRIVER_NOT_LOADED;
  }
  if (nvmlReturn_t no = OpenControlNode(); no != NVML_SUCCESS) return no;
  OpenVisible();
  __atomic_store_n(&Own().users, 1, __ATOMIC_RELEASE);
  return NVML_SUCCESS;
}

nvmlReturn_t Close() {
  Lock lock;
  if (Own().users == 0) return NVML_ERROR_UNINITIALIZED;
  if (__atomic_sub_fetch(&Own().users, 1, __ATOMIC_ACQ_REL) > 0) return NVML_SUCCESS;
  for (u32 index = 0; index < Own().visible; ++index) close(Own().devices[index].node);
  close(Own().control_node);
  return NVML_SUCCESS;
}

const Machine* TheMachine() {
  return __atomic_load_n(&Own().users, __ATOMIC_ACQUIRE) > 0 ? &Mapped() : nullptr;
}

bool TellsProfilesWithoutMode() { return atoi(Mapped().driver_version) >= 550; }

u32 VisibleCount() { return Own().visible; }
nvmlDevice_t VisibleAt(u32 index) {
  return index < Own().visible ? &Own().devices[index] : nullptr;
}
u32 IndexOf(nvmlDevice_t device) { return device->index; }
u32 PositionOf(nvmlDevice_t device) { return device->position; }

nvmlDevice_t HandleOf(u32 position) {
  for (u32 index = 0; index < Own().visible; ++index) {
    if (Own().devices[index].position == position) return &Own().devices[index];
  }
  return nullptr;
}

nvmlReturn_t CheckSystem() {
  const Machine* machine = TheMachine();
  if (machine == nullptr) return NVML_ERROR_UNINITIALIZED;
  return __atomic_load_n(&machine->driver_loaded, __ATOMIC_ACQUIRE) == 0 ? NVML_ERROR_UNKNOWN
                                                                         : NVML_SUCCESS;
}

nvmlReturn_t CheckGpu(const char* call, const Gpu& gpu) {
  if (Hangs(call, gpu) && IsMeant(gpu.hanging_number, SeenOn(gpu).hanging)) {
    for (u32 seen = WakeWord(); Hangs(call, gpu); seen = WakeWord()) WaitForChange(seen, -1);
  }
  u32 failure = __atomic_load_n(&gpu.failure, __ATOMIC_ACQUIRE);
  if (failure != NVML_SUCCESS && Matches(gpu.failing_call, call) &&
      IsMeant(gpu.failing_number, SeenOn(gpu).failing)) {
    return static_cast<nvmlReturn_t>(failure);
  }
  return NVML_SUCCESS;
}

nvmlDevice_t ParentOf(nvmlDevice_t device) {
  Session& own = Own();
  if (device >= &own.devices[0] && device < &own.devices[own.visible]) return device;
  const nvmlDevice_st* first = &own.mig_devices[0][0];
  if (device < first || device >= first + size_t{own.visible} * kMigSlots) return nullptr;
  return &own.devices[static_cast<u32>(device - first) / kMigSlots];
}

nvmlReturn_t Resolve(const char* call, nvmlDevice_t device, const Gpu*& gpu, MigDevice& mig) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  nvmlDevice_t parent = ParentOf(device);
  if (parent == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  gpu = &GpuAt(parent->position);
  mig = {};
  if (nvmlReturn_t no = CheckGpu(call, *gpu); no != NVML_SUCCESS || device == parent) return no;
  u32 gpu_instance = device->index / kMaxComputeInstances;
  const ComputeInstance& compute = gpu->compute_instances[device->index];
  if (__atomic_load_n(&compute.slices, __ATOMIC_ACQUIRE) == 0) return NVML_ERROR_NOT_FOUND;
  mig = {gpu_instance, device->index % kMaxComputeInstances,
         &ProfileOf(*gpu, gpu->gpu_instances[gpu_instance]), &compute};
  return NVML_SUCCESS;
}

bool MayOpenCap(u32 number) {
  char path[48];
  snprintf(path, sizeof path, "/dev/nvidia-caps/nvidia-cap%u", number);
  int node = open(path, O_RDONLY | O_CLOEXEC);
  if (node >= 0) close(node);
  return node >= 0;
}

namespace {

// Calls see(slot) for each MIG device that this process may see, until that returns false.
template <class See>
void EachMigDevice(const Gpu& gpu, See see) {
  bool all = MayOpenCap(kCapMonitor);
  for (u32 id = 0; id < kMaxGpuInstances; ++id) {
    if (__atomic_load_n(&gpu.gpu_instances[id].used, __ATOMIC_ACQUIRE) == 0 ||
        (!all && !MayOpenCap(CapOfGpuInstance(gpu.minor, id)))) {
      continue;
    }
    for (u32 compute = 0; compute < kMaxComputeInstances; ++compute) {
      u32 slot = id * kMaxComputeInstances + compute;
      if (__atomic_load_n(&gpu.compute_instances[slot].slices, __ATOMIC_ACQUIRE) == 0) continue;
      if (!all && !MayOpenCap(CapOfComputeInstance(gpu.minor, id, compute))) continue;
      if (!see(slot)) return;
    }
  }
}

nvmlDevice_t MigHandle(nvmlDevice_t device, u32 slot) {
  nvmlDevice_t handle = &Own().mig_devices[device->index][slot];
  *handle = {device->position, slot, -1};
  return handle;
}

}  // namespace

nvmlDevice_t MigDeviceAt(nvmlDevice_t device, u32 index) {
  nvmlDevice_t found = nullptr;
  u32 at = 0;
  EachMigDevice(GpuAt(device->position), [&](u32 slot) {
    if (at++ == index) found = MigHandle(device, slot);
    return found == nullptr;
  });
  return found;
}

nvmlDevice_t MigDeviceOfUuid(nvmlDevice_t device, const char* uuid) {
  nvmlDevice_t found = nullptr;
  const Gpu& gpu = GpuAt(device->position);
  EachMigDevice(gpu, [&](u32 slot) {
    if (strcasecmp(gpu.compute_instances[slot].uuid, uuid) == 0) found = MigHandle(device, slot);
    return found == nullptr;
  });
  return found;
}

u32 MigIndexOf(nvmlDevice_t device, const MigDevice& mig) {
  u32 wanted = mig.gpu_instance * kMaxComputeInstances + mig.compute_instance, index = 0;
  EachMigDevice(GpuAt(device->position), [&](u32 slot) {
    index += slot < wanted ? 1 : 0;
    return slot < wanted;
  });
  return index;
}

namespace {

nvmlReturn_t MapToWrite() {
  Session& own = Own();
  if (own.writable != nullptr) return NVML_SUCCESS;
  own.write_file = OpenOwnFile(O_RDWR);
  if (own.write_file < 0) return NVML_ERROR_NO_PERMISSION;
  void* memory =
      mmap(nullptr, own.size, PROT_READ | PROT_WRITE, MAP_SHARED, own.write_file, own.offset);
  if (memory == MAP_FAILED) {
    close(own.write_file);
    return NVML_ERROR_NO_PERMISSION;
  }
  own.writable = static_cast<char*>(memory);
  return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t BeginWriting(const Gpu& gpu, Writing& writing) {
  if (geteuid() != 0) return NVML_ERROR_NO_PERMISSION;
  pthread_mutex_lock(&Own().writing);
  if (nvmlReturn_t no = MapToWrite(); no != NVML_SUCCESS) {
    pthread_mutex_unlock(&Own().writing);
    return no;
  }
  flock(Own().write_file, LOCK_EX);  // the tool and other processes
  ptrdiff_t at = reinterpret_cast<const char*>(&gpu) - Own().base;
  writing = {reinterpret_cast<Machine*>(Own().writable),
             reinterpret_cast<Gpu*>(Own().writable + at)};
  return NVML_SUCCESS;
}

void RaiseEvent(const Writing& writing, u64 type, u64 payload) {
  Machine& machine = *writing.machine;
  const Gpu* first = reinterpret_cast<const Gpu*>(Own().writable + machine.gpus_offset);
  machine.events[machine.event_count % kEventSlots] = {
      type, payload, static_cast<u32>(writing.gpu - first), kUnknown32, kUnknown32, 0};
  __atomic_add_fetch(&machine.event_count, 1, __ATOMIC_RELEASE);
}

void EndWriting(const Writing& writing) {
  u32 now = __atomic_add_fetch(&writing.machine->wake, 1, __ATOMIC_ACQ_REL);
  syscall(SYS_futex, &writing.machine->wake, FUTEX_WAKE, 0x7fffffff, nullptr, nullptr, 0);
  flock(Own().write_file, LOCK_UN);
  timespec limit{kFollowLimit / 1000, 0};
  for (u32 kept = __atomic_load_n(&writing.machine->kept, __ATOMIC_ACQUIRE);
       __atomic_load_n(&writing.machine->keeper, __ATOMIC_ACQUIRE) != 0 &&
       static_cast<int32_t>(kept - now) < 0;
       kept = __atomic_load_n(&writing.machine->kept, __ATOMIC_ACQUIRE)) {
    if (syscall(SYS_futex, &writing.machine->kept, FUTEX_WAIT, kept, &limit, nullptr, 0) != 0 &&
        errno == ETIMEDOUT) {
      break;
    }
  }
  pthread_mutex_unlock(&Own().writing);
}

u64 TimeStamp() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<u64>(now.tv_sec) * 1000000 + static_cast<u64>(now.tv_nsec) / 1000;
}

u32 WakeWord() { return __atomic_load_n(&Mapped().wake, __ATOMIC_ACQUIRE); }

void WaitForChange(u32 seen, int64_t milliseconds) {
  // Without FUTEX_PRIVATE the word is known by file and offset, so the tool's wake-up reaches every
  // process that maps this file, also those that map it read-only.
  timespec limit{milliseconds / 1000, (milliseconds % 1000) * 1000000};
  syscall(SYS_futex, &Mapped().wake, FUTEX_WAIT, seen, milliseconds < 0 ? nullptr : &limit, nullptr,
          0);
}

}  // namespace fakegpu
