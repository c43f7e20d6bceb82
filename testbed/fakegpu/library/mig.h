// SPDX-License-Identifier: Apache-2.0
// What the calls about MIG share: handles of instances, and who may ask and change them.
//
// A handle of an instance is the address of its slot in a table of nothing: it holds the GPU's
// position and the ids, so that one that was kept too long is found out.
#pragma once
#include "session.h"

namespace fakegpu {

inline bool InMigMode(const Gpu& gpu) { return gpu.mig_capable == 1 && gpu.mig == 1; }

// Whether a GPU tells now what it can be divided into.
inline bool TellsProfiles(const Gpu& gpu) {
  return InMigMode(gpu) || (gpu.mig_capable == 1 && TellsProfilesWithoutMode());
}

inline bool MayWatch() { return MayOpenCap(kCapConfig) || MayOpenCap(kCapMonitor); }

nvmlGpuInstance_t InstanceHandle(u32 position, u32 id);
nvmlComputeInstance_t ComputeHandle(u32 position, u32 instance, u32 id);
// The slot of a handle, (position * kMaxGpuInstances + instance), of a compute instance times
// kMaxComputeInstances and its id on top; kUnknown32 if the handle is none of ours.
u32 SlotOf(nvmlGpuInstance_t instance);
u32 SlotOf(nvmlComputeInstance_t instance);

// Answers a call about a GPU in MIG mode.
template <class Answer>
nvmlReturn_t OnMigGpu(const char* call, nvmlDevice_t device, Answer answer) {
  return OnGpu(call, device, [&](const Gpu& gpu) {
    return InMigMode(gpu) ? answer(gpu) : NVML_ERROR_NOT_SUPPORTED;
  });
}

// Answers a call about a GPU instance: answer(device, const Gpu&, id).
template <class Answer>
nvmlReturn_t OnInstance(const char* call, nvmlGpuInstance_t instance, Answer answer) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  u32 slot = SlotOf(instance);
  nvmlDevice_t device = HandleOf(slot / kMaxGpuInstances);
  if (device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return OnMigGpu(call, device, [&](const Gpu& gpu) {
    u32 id = slot % kMaxGpuInstances;
    return gpu.gpu_instances[id].used == 0 ? NVML_ERROR_NOT_FOUND : answer(device, gpu, id);
  });
}

// Answers a call about a compute instance: answer(device, const Gpu&, GPU instance, id).
template <class Answer>
nvmlReturn_t OnCompute(const char* call, nvmlComputeInstance_t instance, Answer answer) {
  u32 slot = SlotOf(instance);
  if (slot == kUnknown32) return NVML_ERROR_INVALID_ARGUMENT;
  u32 owner = slot / kMaxComputeInstances, id = slot % kMaxComputeInstances;
  nvmlGpuInstance_t of = InstanceHandle(owner / kMaxGpuInstances, owner % kMaxGpuInstances);
  return OnInstance(call, of, [&](nvmlDevice_t device, const Gpu& gpu, u32 gpu_instance) {
    return ComputeInstanceOf(gpu, gpu_instance, id).slices == 0
               ? NVML_ERROR_NOT_FOUND
               : answer(device, gpu, gpu_instance, id);
  });
}

// Changes the instances of a GPU: change(Gpu&). A success is an event.
template <class Change>
nvmlReturn_t ChangeInstances(const Gpu& gpu, Change change) {
  if (!MayOpenCap(kCapConfig)) return NVML_ERROR_NO_PERMISSION;
  Writing writing{};
  if (nvmlReturn_t no = BeginWriting(gpu, writing); no != NVML_SUCCESS) return no;
  nvmlReturn_t result = change(*writing.gpu);
  if (result == NVML_SUCCESS) RaiseEvent(writing, nvmlEventMigConfigChange, 0);
  EndWriting(writing);
  return result;
}

}  // namespace fakegpu
