// SPDX-License-Identifier: Apache-2.0
// Answers about MIG as its users see it: the mode of a GPU, and the MIG devices that its compute
// instances are shown as. The instances themselves are in gpu_instances.cc and
// compute_instances.cc, and what fits is decided in mig_rules.cc.
#include "mig.h"

using namespace fakegpu;

namespace {

constexpr u32 kInstances = kMaxGpus * kMaxGpuInstances;

char* InstanceSlots() {
  static char slots[kInstances];
  return slots;
}

char* ComputeSlots() {
  static char slots[kInstances * kMaxComputeInstances];
  return slots;
}

u32 SlotAt(const void* handle, const char* slots, u32 count) {
  const auto* at = static_cast<const char*>(handle);
  return at >= slots && at < slots + count ? static_cast<u32>(at - slots) : kUnknown32;
}

}  // namespace

nvmlGpuInstance_t fakegpu::InstanceHandle(u32 position, u32 id) {
  u32 slot = position * kMaxGpuInstances + id;
  return reinterpret_cast<nvmlGpuInstance_t>(InstanceSlots() + slot);
}

nvmlComputeInstance_t fakegpu::ComputeHandle(u32 position, u32 instance, u32 id) {
  u32 slot = (position * kMaxGpuInstances + instance) * kMaxComputeInstances + id;
  return reinterpret_cast<nvmlComputeInstance_t>(ComputeSlots() + slot);
}

u32 fakegpu::SlotOf(nvmlGpuInstance_t instance) {
  return SlotAt(instance, InstanceSlots(), kInstances);
}

u32 fakegpu::SlotOf(nvmlComputeInstance_t instance) {
  return SlotAt(instance, ComputeSlots(), kInstances * kMaxComputeInstances);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current,
                                                 unsigned* pending) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (gpu.mig_capable != 1) return NVML_ERROR_NOT_SUPPORTED;
    nvmlReturn_t no = Put(current, gpu.mig);
    return no == NVML_SUCCESS ? Put(pending, gpu.mig_pending) : no;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned mode,
                                                 nvmlReturn_t* activation) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (activation == nullptr || mode > 1) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu.mig_capable != 1) return NVML_ERROR_NOT_SUPPORTED;
    return ChangeInstances(gpu, [&](Gpu& changed) {
      changed.mig_pending = mode;
      *activation =
          changed.mig != mode && changed.process_count > 0 ? NVML_ERROR_IN_USE : NVML_SUCCESS;
      if (*activation == NVML_SUCCESS && changed.mig != mode) {
        DropInstances(changed);
        changed.mig = mode;
      }
      return NVML_SUCCESS;
    });
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    return Put(out, InMigMode(gpu) ? gpu.mig_compute_slices : 0);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                                                nvmlDevice_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (gpu.mig_compute_slices == 0) return NVML_ERROR_NOT_SUPPORTED;
    if (!InMigMode(gpu)) return NVML_ERROR_NOT_FOUND;  // H200, driver 580.159.04
    if (out == nullptr || index >= gpu.mig_compute_slices) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlDevice_t found = MigDeviceAt(device, index);
    if (found == nullptr) return NVML_ERROR_NOT_FOUND;
    *out = found;
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned* out) {
  return OnEither(__func__, device, [&](const Gpu&, const MigDevice* mig) {
    return Put(out, mig == nullptr ? 0 : 1);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned* out) {
  return OnEither(__func__, device, [&](const Gpu&, const MigDevice* mig) {
    return mig == nullptr ? NVML_ERROR_INVALID_ARGUMENT : Put(out, mig->gpu_instance);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned* out) {
  return OnEither(__func__, device, [&](const Gpu&, const MigDevice* mig) {
    return mig == nullptr ? NVML_ERROR_INVALID_ARGUMENT : Put(out, mig->compute_instance);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t device,
                                                                         nvmlDevice_t* out) {
  return OnEither(__func__, device, [&](const Gpu&, const MigDevice* mig) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (mig == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *out = ParentOf(device);
    return NVML_SUCCESS;
  });
}
