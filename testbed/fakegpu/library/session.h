// SPDX-License-Identifier: Apache-2.0
// What the calls of the library share: the mapped machine, the GPUs this process may see, and the
// checks that stand before every answer.
#pragma once
#define NVML_NO_UNVERSIONED_FUNC_DEFS  // both the old names and their successors are defined here
#include <nvml.h>

#include <cstring>
#include <type_traits>

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

// GPUs whose device node could be opened at initialisation, in the order of the machine.
u32 VisibleCount();
nvmlDevice_t VisibleAt(u32 index);
const Gpu& GpuAt(u32 position);

// Says whether the library is initialised and the driver still there.
nvmlReturn_t CheckSystem();

// Finds what a handle stands for, or says why not. Waits here while the call is made to hang, and
// answers what the GPU is made to fail with.
nvmlReturn_t Resolve(const char* call, nvmlDevice_t device, const Gpu*& gpu);
nvmlReturn_t CheckGpu(const char* call, const Gpu& gpu);
u32 IndexOf(nvmlDevice_t device);
u32 PositionOf(nvmlDevice_t device);
nvmlDevice_t HandleOf(u32 position);  // null if this process may not see it

// The same GPU, to be written; NO_PERMISSION if the library file is not ours to write.
nvmlReturn_t Writable(const Gpu& gpu, Gpu*& writable);

// Waits until the machine's wake word is no longer `seen`, or until the time is over; -1 waits for
// ever.
void WaitForChange(u32 seen, int64_t milliseconds);
u32 WakeWord();

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

// Answers a call about one GPU: answer(const Gpu&) runs only if the GPU can be asked.
template <class Answer>
nvmlReturn_t OnGpu(const char* call, nvmlDevice_t device, Answer answer) {
  const Gpu* gpu = nullptr;
  if (nvmlReturn_t no = Resolve(call, device, gpu); no != NVML_SUCCESS) return no;
  return answer(*gpu);
}

// Changes one GPU, if this process may: change(Gpu&).
template <class Change>
nvmlReturn_t ChangeGpu(const char* call, nvmlDevice_t device, Change change) {
  return OnGpu(call, device, [&](const Gpu& gpu) {
    Gpu* writable = nullptr;
    if (nvmlReturn_t no = Writable(gpu, writable); no != NVML_SUCCESS) return no;
    return change(*writable);
  });
}

}  // namespace fakegpu

// A call that hands out one number, name or enumeration of the GPU as it stands.
#define FAKEGPU_NUMBER(call, field)                                                               \
  FAKEGPU_EXPORT nvmlReturn_t call(nvmlDevice_t device, unsigned* out) {                          \
    return fakegpu::OnGpu(#call, device,                                                          \
                          [&](const fakegpu::Gpu& gpu) { return fakegpu::Put(out, gpu.field); }); \
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
