// SPDX-License-Identifier: Apache-2.0
// Answers which processes use a GPU, in the three shapes that the calls have had.
//
// The list is several numbers that belong together, so it is read under the GPU's sequence: odd
// means "being written", and a list whose sequence changed meanwhile is read again.
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "session.h"

using namespace fakegpu;

namespace {

struct Processes {
  u32 count = 0;
  Process list[kMaxProcesses];
};

void Read(const Gpu& gpu, Processes& out) {
  for (int attempt = 0; attempt < 1000;
       ++attempt) {  // a writer that was killed midway is not waited for
    u32 before = __atomic_load_n(&gpu.sequence, __ATOMIC_ACQUIRE);
    out.count = gpu.process_count < kMaxProcesses ? gpu.process_count : kMaxProcesses;
    std::memcpy(out.list, gpu.processes, out.count * sizeof(Process));
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (before % 2 == 0 && __atomic_load_n(&gpu.sequence, __ATOMIC_RELAXED) == before) return;
    sched_yield();
  }
}

bool IsIn(const Process& process, const MigDevice* mig) {
  return mig == nullptr || (process.gpu_instance == mig->gpu_instance &&
                            process.compute_instance == mig->compute_instance);
}

void Fill(const Process& from, nvmlProcessInfo_v1_t& to) { to = {from.pid, from.memory}; }
void Fill(const Process& from, nvmlProcessInfo_v2_t& to) {
  to = {from.pid, from.memory, from.gpu_instance, from.compute_instance};
}

template <class Info>
nvmlReturn_t Put(const char* call, nvmlDevice_t device, u32 kind, unsigned* count, Info* out) {
  return OnEither(call, device, [&](const Gpu& gpu, const MigDevice* mig) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    Processes processes;
    Read(gpu, processes);
    u32 room = out == nullptr ? 0 : *count, found = 0;
    for (u32 i = 0; i < processes.count; ++i) {
      if (processes.list[i].kind != kind || !IsIn(processes.list[i], mig)) continue;
      if (found < room) Fill(processes.list[i], out[found]);
      ++found;
    }
    *count = found;
    return found <= room ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
  });
}

}  // namespace

#define FAKEGPU_PROCESSES(call, kind)                                         \
  FAKEGPU_EXPORT nvmlReturn_t call(nvmlDevice_t device, unsigned* count,      \
                                   nvmlProcessInfo_v1_t* out) {               \
    return Put(#call, device, kind, count, out);                              \
  }                                                                           \
  FAKEGPU_EXPORT nvmlReturn_t call##_v2(nvmlDevice_t device, unsigned* count, \
                                        nvmlProcessInfo_v2_t* out) {          \
    return Put(#call "_v2", device, kind, count, out);                        \
  }                                                                           \
  FAKEGPU_EXPORT nvmlReturn_t call##_v3(nvmlDevice_t device, unsigned* count, \
                                        nvmlProcessInfo_t* out) {             \
    return Put(#call "_v3", device, kind, count, out);                        \
  }
FAKEGPU_PROCESSES(nvmlDeviceGetComputeRunningProcesses, kCompute)
FAKEGPU_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, kGraphics)
FAKEGPU_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, kMps)

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                                            nvmlProcessUtilizationSample_t* out,
                                                            unsigned* count,
                                                            unsigned long long since) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu.mig == 1) return NVML_ERROR_NOT_SUPPORTED;
    Processes processes;
    Read(gpu, processes);
    u64 now = TimeStamp();
    u32 room = out == nullptr ? 0 : *count, found = 0;
    for (u32 i = 0; i < processes.count && now > since; ++i) {
      const Process& one = processes.list[i];
      if (one.sm_utilization == 0 && one.memory_utilization == 0) continue;
      if (found < room)
        out[found] = {one.pid, now, one.sm_utilization, one.memory_utilization, 0, 0};
      ++found;
    }
    *count = found;
    if (found == 0) return NVML_ERROR_NOT_FOUND;
    return found <= room ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* out, unsigned length) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  if (out == nullptr || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
  for (u32 index = 0; index < VisibleCount(); ++index) {
    Processes processes;
    Read(GpuAt(PositionOf(VisibleAt(index))), processes);
    for (u32 i = 0; i < processes.count; ++i) {
      const Process& one = processes.list[i];
      if (one.pid == pid && one.name[0] != '\0') return PutText(out, length, one.name);
    }
  }
  char text[256];
  snprintf(text, sizeof text, "/proc/%u/cmdline", pid);
  int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return NVML_ERROR_NOT_FOUND;
  ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  text[got > 0 ? got : 0] = '\0';
  snprintf(out, length, "%s", text);
  return NVML_SUCCESS;
}
