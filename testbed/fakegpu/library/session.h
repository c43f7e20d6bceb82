// SPDX-License-Identifier: Apache-2.0
// What the calls of the library share: the mapped machine, the GPUs this process may see, and the
// checks that stand before every answer.
#pragma once
#define NVML_NO_UNVERSIONED_FUNC_DEFS  // both the old names and their successors are defined here
#include <nvml.h>

#include <cstring>
#include <type_traits>

#include "mig_rules.h"
#include "state.h"

// What NVIDIA's library exports: everything else stays inside.
#define FAKEGPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace fakegpu {

// Counts initialisations, as nvmlInit does; the first one maps the machine and opens the device
// nodes.
nvmlReturn_t Open();
nvmlReturn_t Close();

// The machine, or null while not initialised.
const Machine* TheMachine();

// Whether the driver tells MIG profiles while MIG is off, as it does since 550.
bool TellsProfilesWithoutMode();

// GPUs whose device node could be opened at initialisation, in the order of the machine.
u32 VisibleCount();
nvmlDevice_t VisibleAt(u32 index);
const Gpu& GpuAt(u32 position);

// Says whether the library is initialised and the driver still there.
nvmlReturn_t CheckSystem();

// A compute instance and what it lies in: what a MIG device handle stands for.
struct MigDevice {
  u32 gpu_instance;
  u32 compute_instance;
  const MigProfile* profile;  // of the GPU instance
  const ComputeInstance* compute;
};

// Finds what a handle stands for, or says why not: a MIG device that is gone is NOT_FOUND. Waits
// here while the call is made to hang, and answers what the GPU is made to fail with. `mig.compute`
// is null for the handle of a GPU.
nvmlReturn_t Resolve(const char* call, nvmlDevice_t device, const Gpu*& gpu, MigDevice& mig);
nvmlReturn_t CheckGpu(const char* call, const Gpu& gpu);
u32 IndexOf(nvmlDevice_t device);
u32 PositionOf(nvmlDevice_t device);
nvmlDevice_t HandleOf(u32 position);  // null if this process may not see it

// MIG devices whose two nodes in /dev/nvidia-caps this process may open, in the order of their
// instances; whoever may watch MIG (nvidia-cap2) sees all. Null past the last.
nvmlDevice_t MigDeviceAt(nvmlDevice_t device, u32 index);
nvmlDevice_t MigDeviceOfUuid(nvmlDevice_t device, const char* uuid);
nvmlDevice_t ParentOf(nvmlDevice_t device);  // the GPU's own handle; null if it is none of ours
u32 MigIndexOf(nvmlDevice_t device, const MigDevice& mig);
bool MayOpenCap(u32 number);

// Changes one GPU under the lock of the file, wakes who waits for the machine, and returns when its
// capability files have followed. NO_PERMISSION if the library file is not ours to write.
struct Writing {
  Machine* machine;
  Gpu* gpu;
};
nvmlReturn_t BeginWriting(const Gpu& gpu, Writing& writing);
void EndWriting(const Writing& writing);

// Puts an event into the ring of a machine that is being written.
void RaiseEvent(const Writing& writing, u64 type, u64 payload);

// Waits until the machine's wake word is no longer `seen`, or until the time is over; -1 waits for
// ever.
void WaitForChange(u32 seen, int64_t milliseconds);
u32 WakeWord();

// The CPU's time as NVML stamps what it measured: microseconds since 1970.
u64 TimeStamp();

inline nvmlReturn_t Put(unsigned* out, u32 value) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (value == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
  *out = value;
  return NVML_SUCCESS;
}

inline nvmlReturn_t Put(unsigned long long* out, u64 value) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (value == kUnknown64) return NVML_ERROR_NOT_SUPPORTED;
  *out = value;
  return NVML_SUCCESS;
}

// What the counters have grown by since they were written: KiB of a link in one direction,
// nanoseconds of a policy whose reasons are set.
u64 LinkGrowth(const Gpu& gpu);
u64 ViolationTime(const Gpu& gpu, unsigned policy);

// Whether the GPU can run at that clock (MHz).
bool IsGraphicsClock(const Gpu& gpu, u32 clock);

inline bool IsSince(const Gpu& gpu, u32 architecture) {
  return gpu.architecture != kUnknown32 && gpu.architecture >= architecture;
}

// How far a temperature is below the one at which the GPU slows down (T.Limit, since Ada).
inline nvmlReturn_t PutMargin(const Gpu& gpu, u32 temperature, int& out) {
  if (!IsSince(gpu, NVML_DEVICE_ARCH_ADA) || gpu.temperature_gpu_max == kUnknown32 ||
      temperature == kUnknown32) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  out = static_cast<int>(gpu.temperature_gpu_max) - static_cast<int>(temperature);
  return NVML_SUCCESS;
}

template <class Enum>
nvmlReturn_t PutEnum(Enum* out, u32 value) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (value == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
  *out = static_cast<Enum>(value);
  return NVML_SUCCESS;
}

inline nvmlReturn_t PutText(char* out, size_t length, const char* value) {
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (value[0] == '\0') return NVML_ERROR_NOT_SUPPORTED;
  if (std::strlen(value) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::strcpy(out, value);
  return NVML_SUCCESS;
}

// Answers a call about one GPU: answer(const Gpu&) runs only if the GPU can be asked. A MIG device
// has no answer of its own.
template <class Answer>
nvmlReturn_t OnGpu(const char* call, nvmlDevice_t device, Answer answer) {
  const Gpu* gpu = nullptr;
  MigDevice mig{};
  if (nvmlReturn_t no = Resolve(call, device, gpu, mig); no != NVML_SUCCESS) return no;
  return mig.compute == nullptr ? answer(*gpu) : NVML_ERROR_NOT_SUPPORTED;
}

// Answers a call about a GPU or a MIG device: answer(const Gpu&, const MigDevice*), null for a GPU.
template <class Answer>
nvmlReturn_t OnEither(const char* call, nvmlDevice_t device, Answer answer) {
  const Gpu* gpu = nullptr;
  MigDevice mig{};
  if (nvmlReturn_t no = Resolve(call, device, gpu, mig); no != NVML_SUCCESS) return no;
  return answer(*gpu, mig.compute == nullptr ? nullptr : &mig);
}

// Changes one GPU, if this process may: change(Gpu&).
template <class Change>
nvmlReturn_t ChangeGpu(const char* call, nvmlDevice_t device, Change change) {
  return OnGpu(call, device, [&](const Gpu& gpu) {
    Writing writing{};
    if (nvmlReturn_t no = BeginWriting(gpu, writing); no != NVML_SUCCESS) return no;
    nvmlReturn_t result = change(*writing.gpu);
    EndWriting(writing);
    return result;
  });
}

}  // namespace fakegpu

// A call that hands out one number, name or enumeration of the GPU as it stands.
#define FAKEGPU_NUMBER(call, field)                                                               \
  FAKEGPU_EXPORT nvmlReturn_t call(nvmlDevice_t device, unsigned* out) {                          \
    return fakegpu::OnGpu(#call, device,                                                          \
                          [&](const fakegpu::Gpu& gpu) { return fakegpu::Put(out, gpu.field); }); \
  }
// The same of a call that a MIG device answers as its GPU does.
#define FAKEGPU_SHARED_ENUM(call, type, field)                                             \
  FAKEGPU_EXPORT nvmlReturn_t call(nvmlDevice_t device, std::type_identity_t<type>* out) { \
    return fakegpu::OnEither(#call, device,                                                \
                             [&](const fakegpu::Gpu& gpu, const fakegpu::MigDevice*) {     \
                               return fakegpu::PutEnum(out, gpu.field);                    \
                             });                                                           \
  }
#define FAKEGPU_TEXT(call, field)                                                     \
  FAKEGPU_EXPORT nvmlReturn_t call(nvmlDevice_t device, char* out, unsigned length) { \
    return fakegpu::OnGpu(#call, device, [&](const fakegpu::Gpu& gpu) {               \
      return fakegpu::PutText(out, length, gpu.field);                                \
    });                                                                               \
  }
#define FAKEGPU_ENUM(call, type, field)                                                            \
  FAKEGPU_EXPORT nvmlReturn_t call(nvmlDevice_t device, std::type_identity_t<type>* out) {         \
    return fakegpu::OnGpu(                                                                         \
        #call, device, [&](const fakegpu::Gpu& gpu) { return fakegpu::PutEnum(out, gpu.field); }); \
  }
