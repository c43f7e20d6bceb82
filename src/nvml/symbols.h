// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvml.h>

#include <string>

// nvml.h would rename functions to their newest version; NVML_NO_UNVERSIONED_FUNC_DEFS (see
// CMakeLists.txt) forbids it, and every version is named here.
namespace gantry::nvml {

// The functions of NVML that we call. A null one is missing in this driver's library.
#define GANTRY_NVML_FUNCTIONS(X)         \
  X(nvmlInit_v2)                         \
  X(nvmlShutdown)                        \
  X(nvmlSystemGetDriverVersion)          \
  X(nvmlSystemGetCudaDriverVersion_v2)   \
  X(nvmlSystemGetCudaDriverVersion)      \
  X(nvmlDeviceGetCount_v2)               \
  X(nvmlDeviceGetHandleByIndex_v2)       \
  X(nvmlDeviceGetHandleByUUID)           \
  X(nvmlDeviceGetUUID)                   \
  X(nvmlDeviceGetName)                   \
  X(nvmlDeviceGetBrand)                  \
  X(nvmlDeviceGetMinorNumber)            \
  X(nvmlDeviceGetPciInfo_v3)             \
  X(nvmlDeviceGetMemoryInfo)             \
  X(nvmlDeviceGetCudaComputeCapability)  \
  X(nvmlDeviceGetMigMode)                \
  X(nvmlDeviceGetGpuFabricInfoV)         \
  X(nvmlDeviceGetGpuFabricInfo)          \
  X(nvmlDeviceGetTemperature)            \
  X(nvmlDeviceGetTopologyCommonAncestor) \
  X(nvmlDeviceGetNvLinkState)            \
  X(nvmlDeviceGetNvLinkRemotePciInfo_v2) \
  X(nvmlDeviceGetNvLinkRemoteDeviceType) \
  X(nvmlDeviceGetSupportedEventTypes)    \
  X(nvmlDeviceRegisterEvents)            \
  X(nvmlEventSetCreate)                  \
  X(nvmlEventSetWait_v2)                 \
  X(nvmlEventSetWait)                    \
  X(nvmlEventSetFree)

struct Symbols {
  void* library = nullptr;  // of dlopen
#define GANTRY_NVML_POINTER(name) decltype(&::name) name = nullptr;
  GANTRY_NVML_FUNCTIONS(GANTRY_NVML_POINTER)
#undef GANTRY_NVML_POINTER
};

// Calls one function; a missing one is FUNCTION_NOT_FOUND, as NVML itself would say.
template <typename... Parameters, typename... Arguments>
nvmlReturn_t Call(nvmlReturn_t (*function)(Parameters...), Arguments... arguments) {
  return function == nullptr ? NVML_ERROR_FUNCTION_NOT_FOUND : function(arguments...);
}

// "0000:3b:00.0" as sysfs spells it, from the fields of a PCI info.
std::string SysfsBusId(const nvmlPciInfo_t& pci);

}  // namespace gantry::nvml
