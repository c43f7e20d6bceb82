// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvml.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"

// New in NVML 13 (drivers since 580), and so not in the nvml.h of this build.
struct GantryNvmlAddressingMode {
  unsigned version;  // kAddressingModeVersion
  unsigned value;    // 0 none, 1 HMM, 2 ATS
};
extern "C" nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device,
                                                    GantryNvmlAddressingMode* mode);

// nvml.h would rename functions to their newest version; NVML_NO_UNVERSIONED_FUNC_DEFS (see
// CMakeLists.txt) forbids it, and every version is named here.
namespace gantry::nvml {

// The functions of NVML in use, without their prefix "nvml". Null if this driver's library lacks
// it.
#define GANTRY_NVML_FUNCTIONS(X)               \
  X(Init_v2)                                   \
  X(Shutdown)                                  \
  X(SystemGetDriverVersion)                    \
  X(SystemGetCudaDriverVersion_v2)             \
  X(SystemGetCudaDriverVersion)                \
  X(DeviceGetCount_v2)                         \
  X(DeviceGetHandleByIndex_v2)                 \
  X(DeviceGetHandleByUUID)                     \
  X(DeviceGetUUID)                             \
  X(DeviceGetName)                             \
  X(DeviceGetBrand)                            \
  X(DeviceGetMinorNumber)                      \
  X(DeviceGetPciInfo_v3)                       \
  X(DeviceGetMemoryInfo)                       \
  X(DeviceGetCudaComputeCapability)            \
  X(DeviceGetMigMode)                          \
  X(DeviceGetAddressingMode)                   \
  X(DeviceGetGpuFabricInfoV)                   \
  X(DeviceGetGpuFabricInfo)                    \
  X(DeviceGetTemperature)                      \
  X(DeviceGetComputeMode)                      \
  X(DeviceSetComputeMode)                      \
  X(DeviceGetFieldValues)                      \
  X(DeviceGetTopologyCommonAncestor)           \
  X(DeviceGetP2PStatus)                        \
  X(DeviceGetNvLinkState)                      \
  X(DeviceGetNvLinkRemotePciInfo_v2)           \
  X(DeviceGetNvLinkRemoteDeviceType)           \
  X(DeviceGetSupportedEventTypes)              \
  X(DeviceRegisterEvents)                      \
  X(DeviceGetMaxMigDeviceCount)                \
  X(DeviceGetMigDeviceHandleByIndex)           \
  X(DeviceGetGpuInstanceId)                    \
  X(DeviceGetComputeInstanceId)                \
  X(DeviceGetAttributes_v2)                    \
  X(DeviceGetGpuInstanceById)                  \
  X(DeviceGetGpuInstanceProfileInfo)           \
  X(GpuInstanceGetInfo)                        \
  X(DeviceGetGpuInstanceProfileInfoV)          \
  X(DeviceGetGpuInstancePossiblePlacements_v2) \
  X(DeviceGetGpuInstances)                     \
  X(DeviceCreateGpuInstanceWithPlacement)      \
  X(DeviceSetMigMode)                          \
  X(GpuInstanceDestroy)                        \
  X(GpuInstanceGetComputeInstanceProfileInfo)  \
  X(GpuInstanceGetComputeInstances)            \
  X(GpuInstanceGetComputeInstanceById)         \
  X(GpuInstanceCreateComputeInstance)          \
  X(ComputeInstanceGetInfo_v2)                 \
  X(ComputeInstanceDestroy)                    \
  X(EventSetCreate)                            \
  X(EventSetWait_v2)                           \
  X(EventSetWait)                              \
  X(EventSetFree)                              \
  X(SystemGetNVMLVersion)                      \
  X(DeviceGetMemoryInfo_v2)                    \
  X(DeviceGetBAR1MemoryInfo)                   \
  X(DeviceGetClockInfo)                        \
  X(DeviceGetMaxClockInfo)                     \
  X(DeviceGetApplicationsClock)                \
  X(DeviceGetTemperatureThreshold)             \
  X(DeviceGetMarginTemperature)                \
  X(DeviceGetPowerUsage)                       \
  X(DeviceGetPowerManagementLimit)             \
  X(DeviceGetPowerManagementLimitConstraints)  \
  X(DeviceGetPowerManagementDefaultLimit)      \
  X(DeviceGetEnforcedPowerLimit)               \
  X(DeviceGetUtilizationRates)                 \
  X(DeviceGetComputeRunningProcesses_v2)       \
  X(DeviceGetComputeRunningProcesses_v3)       \
  X(DeviceGetGraphicsRunningProcesses_v2)      \
  X(DeviceGetGraphicsRunningProcesses_v3)      \
  X(DeviceGetMPSComputeRunningProcesses_v2)    \
  X(DeviceGetMPSComputeRunningProcesses_v3)    \
  X(DeviceGetProcessUtilization)               \
  X(DeviceGetEncoderUtilization)               \
  X(DeviceGetDecoderUtilization)               \
  X(DeviceGetPcieReplayCounter)                \
  X(DeviceGetPcieThroughput)                   \
  X(DeviceGetCurrPcieLinkGeneration)           \
  X(DeviceGetCurrPcieLinkWidth)                \
  X(DeviceGetMaxPcieLinkGeneration)            \
  X(DeviceGetMaxPcieLinkWidth)                 \
  X(DeviceGetPerformanceState)                 \
  X(DeviceGetFanSpeed)                         \
  X(DeviceGetCurrentClocksEventReasons)        \
  X(DeviceGetCurrentClocksThrottleReasons)     \
  X(DeviceGetAutoBoostedClocksEnabled)         \
  X(DeviceGetRetiredPages)                     \
  X(DeviceGetMemoryErrorCounter)               \
  X(DeviceGetSramEccErrorStatus)               \
  X(DeviceGetRowRemapperHistogram)             \
  X(DeviceGetNvLinkErrorCounter)               \
  X(DeviceGetPersistenceMode)                  \
  X(DeviceGetVirtualizationMode)               \
  X(DeviceGetInforomConfigurationChecksum)     \
  X(DeviceValidateInforom)                     \
  X(DeviceGetGridLicensableFeatures_v4)        \
  X(DeviceGetCpuAffinity)                      \
  X(DeviceGetMemoryAffinity)                   \
  X(DeviceGetSerial)                           \
  X(DeviceGetVbiosVersion)                     \
  X(DeviceGetInforomVersion)                   \
  X(DeviceGetInforomImageVersion)              \
  X(GpmQueryDeviceSupport)                     \
  X(GpmSampleAlloc)                            \
  X(GpmSampleFree)                             \
  X(GpmSampleGet)                              \
  X(GpmMigSampleGet)                           \
  X(GpmMetricsGet)

inline constexpr unsigned kAddressingModeVersion = sizeof(GantryNvmlAddressingMode) | 1U << 24;
inline constexpr unsigned kAddressingModeAts = 2;

struct Symbols {
  void* library = nullptr;     // of dlopen
  std::string driver_version;  // "580.159.04"; empty: not known
#define GANTRY_NVML_POINTER(name) decltype(&::nvml##name) nvml##name = nullptr;
  GANTRY_NVML_FUNCTIONS(GANTRY_NVML_POINTER)
#undef GANTRY_NVML_POINTER
};

// Of this process, since its start.
inline std::atomic<uint64_t>& CallCounter() {
  static std::atomic<uint64_t> counter = 0;
  return counter;
}

// Calls one function; a missing one is FUNCTION_NOT_FOUND, as NVML itself would return.
template <typename... Parameters, typename... Arguments>
nvmlReturn_t Call(nvmlReturn_t (*function)(Parameters...), Arguments... arguments) {
  if (function == nullptr) {
    return NVML_ERROR_FUNCTION_NOT_FOUND;
  }
  CallCounter().fetch_add(1, std::memory_order_relaxed);
  return function(arguments...);
}

// The handle of a GPU or MIG device.
Result<nvmlDevice_t> HandleOf(const Symbols& symbols, const std::string& uuid);

// Whether a GPU reads the CPU's memory by the CPU's own page tables. As in NVIDIA's tools, false if
// its driver lacks the function. nullopt: no answer.
std::optional<bool> IsCoherent(const Symbols& symbols, nvmlDevice_t device);

// "0000:3b:00.0" as sysfs spells it, from the fields of a PCI info.
std::string SysfsBusId(const nvmlPciInfo_t& pci);
// 8-4-4-4-12, from the NVML_GPU_FABRIC_UUID_LEN bytes of a fabric's cluster.
std::string FabricUuid(const unsigned char* bytes);

}  // namespace gantry::nvml
