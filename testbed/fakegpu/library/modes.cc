// SPDX-License-Identifier: Apache-2.0
// Answers how a GPU is set (persistence, compute mode, ECC, power limit, application clocks) and
// changes it, where the caller may write the machine: root on the host, not a container that has
// the library read-only. MIG's mode is in mig.cc.
#include "session.h"

using namespace fakegpu;

FAKEGPU_ENUM(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, persistence)
FAKEGPU_ENUM(nvmlDeviceGetComputeMode, nvmlComputeMode_t, compute_mode)
FAKEGPU_ENUM(nvmlDeviceGetDisplayMode, nvmlEnableState_t, display_attached)
FAKEGPU_ENUM(nvmlDeviceGetDisplayActive, nvmlEnableState_t, display_active)
FAKEGPU_ENUM(nvmlDeviceGetAccountingMode, nvmlEnableState_t, accounting)

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetAccountingBufferSize(nvmlDevice_t device, unsigned* out) {
  return OnGpu(__func__, device, [&](const Gpu&) { return Put(out, 4000); });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned* count,
                                                        unsigned*) {
  return OnGpu(__func__, device, [&](const Gpu&) { return Put(count, 0); });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned,
                                                         nvmlAccountingStats_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return gpu.accounting == 1 ? NVML_ERROR_NOT_FOUND : NVML_ERROR_NOT_SUPPORTED;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceClearAccountingPids(nvmlDevice_t device) {
  return ChangeGpu(__func__, device, [](Gpu&) { return NVML_SUCCESS; });
}

namespace {

bool IsSwitch(nvmlEnableState_t mode) {
  return mode == NVML_FEATURE_DISABLED || mode == NVML_FEATURE_ENABLED;
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device,
                                                         nvmlEnableState_t mode) {
  return ChangeGpu(__func__, device, [&](Gpu& gpu) {
    if (!IsSwitch(mode)) return NVML_ERROR_INVALID_ARGUMENT;
    gpu.persistence = mode;
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceSetComputeMode(nvmlDevice_t device, nvmlComputeMode_t mode) {
  return ChangeGpu(__func__, device, [&](Gpu& gpu) {
    if (mode >= NVML_COMPUTEMODE_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    gpu.compute_mode = mode;
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceSetEccMode(nvmlDevice_t device, nvmlEnableState_t mode) {
  return ChangeGpu(__func__, device, [&](Gpu& gpu) {
    if (!IsSwitch(mode)) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu.ecc == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
    gpu.ecc_pending = mode;  // in force after the next reset
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceSetAccountingMode(nvmlDevice_t device,
                                                        nvmlEnableState_t mode) {
  return ChangeGpu(__func__, device, [&](Gpu& gpu) {
    if (!IsSwitch(mode)) return NVML_ERROR_INVALID_ARGUMENT;
    gpu.accounting = mode;
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned limit) {
  return ChangeGpu(__func__, device, [&](Gpu& gpu) {
    if (gpu.power_limit == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
    if (limit < gpu.power_min || limit > gpu.power_max) return NVML_ERROR_INVALID_ARGUMENT;
    gpu.power_limit = limit;
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t device,
                                                                 nvmlPowerValue_v2_t* value) {
  if (value == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (value->version != nvmlPowerValue_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return nvmlDeviceSetPowerManagementLimit(device, value->powerValueMw);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceSetApplicationsClocks(nvmlDevice_t device, unsigned memory,
                                                            unsigned graphics) {
  return ChangeGpu(__func__, device, [&](Gpu& gpu) {
    if (gpu.application_graphics_default == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
    if (memory != gpu.clock_memory_max || !IsGraphicsClock(gpu, graphics)) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    gpu.application_memory = memory;
    gpu.application_graphics = graphics;
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceResetApplicationsClocks(nvmlDevice_t device) {
  return ChangeGpu(__func__, device, [](Gpu& gpu) {
    gpu.application_memory = gpu.application_memory_default;
    gpu.application_graphics = gpu.application_graphics_default;
    return NVML_SUCCESS;
  });
}
