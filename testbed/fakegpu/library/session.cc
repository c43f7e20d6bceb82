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
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct nvmlDevice_st {
  fakegpu::u32 position;
  fakegpu::u32 index;
  int node;
};

namespace fakegpu {
namespace {

struct Session {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  int users = 0;
  int control_node = -1;
  const char* base = nullptr;  // of the machine, mapped to read
  char* writable = nullptr;    // the same, mapped to write, once someone wanted that
  size_t size = 0;
  off_t offset = 0;
  u32 visible = 0;
  nvmlDevice_st devices[kMaxGpus];
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
  for (u32 seen = WakeWord(); Hangs(call, gpu); seen = WakeWord()) WaitForChange(seen, -1);
  u32 failure = __atomic_load_n(&gpu.failure, __ATOMIC_ACQUIRE);
  if (failure != NVML_SUCCESS && Matches(gpu.failing_call, call)) {
    return static_cast<nvmlReturn_t>(failure);
  }
  return NVML_SUCCESS;
}

nvmlReturn_t Resolve(const char* call, nvmlDevice_t device, const Gpu*& gpu) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  if (device < &Own().devices[0] || device >= &Own().devices[Own().visible]) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  gpu = &GpuAt(device->position);
  return CheckGpu(call, *gpu);
}

nvmlReturn_t Writable(const Gpu& gpu, Gpu*& writable) {
  if (geteuid() != 0) return NVML_ERROR_NO_PERMISSION;
  Lock lock;
  if (Own().writable == nullptr) {
    int file = OpenOwnFile(O_RDWR);
    if (file < 0) return NVML_ERROR_NO_PERMISSION;
    void* memory =
        mmap(nullptr, Own().size, PROT_READ | PROT_WRITE, MAP_SHARED, file, Own().offset);
    close(file);
    if (memory == MAP_FAILED) return NVML_ERROR_NO_PERMISSION;
    Own().writable = static_cast<char*>(memory);
  }
  ptrdiff_t at = reinterpret_cast<const char*>(&gpu) - Own().base;
  writable = reinterpret_cast<Gpu*>(Own().writable + at);
  return NVML_SUCCESS;
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
