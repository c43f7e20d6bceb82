// SPDX-License-Identifier: Apache-2.0
// Answers what is asked about the machine as a whole: initialisation, versions, error names, units
// (there are none), and the handles of its GPUs by index, UUID, serial number and PCI address.
#include <stdio.h>
#include <strings.h>

#include "session.h"

using namespace fakegpu;

FAKEGPU_EXPORT nvmlReturn_t nvmlInit_v2() { return Open(); }
FAKEGPU_EXPORT nvmlReturn_t nvmlInit() { return Open(); }
FAKEGPU_EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned flags) {
  (void)flags;  // "no GPUs" and "no attach" change nothing here: nothing is attached, none is still
                // a success
  return Open();
}
FAKEGPU_EXPORT nvmlReturn_t nvmlShutdown() { return Close(); }

FAKEGPU_EXPORT const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_UNINITIALIZED:
      return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NO_PERMISSION:
      return "Insufficient Permissions";
    case NVML_ERROR_ALREADY_INITIALIZED:
      return "Already Initialized";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case NVML_ERROR_INSUFFICIENT_POWER:
      return "Insufficient External Power";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT:
      return "Timeout";
    case NVML_ERROR_IRQ_ISSUE:
      return "Interrupt Request Issue";
    case NVML_ERROR_LIBRARY_NOT_FOUND:
      return "NVML Shared Library Not Found";
    case NVML_ERROR_FUNCTION_NOT_FOUND:
      return "Function Not Found";
    case NVML_ERROR_CORRUPTED_INFOROM:
      return "Corrupted infoROM";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
    case NVML_ERROR_RESET_REQUIRED:
      return "GPU requires reset";
    case NVML_ERROR_OPERATING_SYSTEM:
      return "GPU access blocked by the operating system";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
      return "Driver/library version mismatch";
    case NVML_ERROR_IN_USE:
      return "In use by another client";
    case NVML_ERROR_MEMORY:
      return "Insufficient Memory";
    case NVML_ERROR_NO_DATA:
      return "No data";
    case NVML_ERROR_VGPU_ECC_NOT_SUPPORTED:
      return "vGPU ECC is not supported";
    case NVML_ERROR_INSUFFICIENT_RESOURCES:
      return "Insufficient resources";
    case NVML_ERROR_FREQ_NOT_SUPPORTED:
      return "Requested frequency not supported";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
      return "Argument version mismatch";
    case NVML_ERROR_DEPRECATED:
      return "Deprecated";
    case NVML_ERROR_NOT_READY:
      return "Not ready";
    case NVML_ERROR_GPU_NOT_FOUND:
      return "GPU not found";
    case NVML_ERROR_INVALID_STATE:
      return "Invalid state";
    case NVML_ERROR_UNKNOWN:
      break;
  }
  return "Unknown Error";
}

FAKEGPU_EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char* out, unsigned length) {
  const Machine* machine = TheMachine();
  return machine == nullptr ? NVML_ERROR_UNINITIALIZED
                            : PutText(out, length, machine->driver_version);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char* out, unsigned length) {
  const Machine* machine = TheMachine();
  return machine == nullptr ? NVML_ERROR_UNINITIALIZED
                            : PutText(out, length, machine->nvml_version);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t* info,
                                                      unsigned length) {
  const Machine* machine = TheMachine();
  if (machine == nullptr) return NVML_ERROR_UNINITIALIZED;
  if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (info->version != nvmlSystemDriverBranchInfo_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  char branch[16];
  snprintf(branch, sizeof branch, "r%.3s_00", machine->driver_version);
  size_t room = length < sizeof info->branch ? length : sizeof info->branch;
  return PutText(info->branch, room, branch);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* out) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  return PutEnum(out, TheMachine()->cuda_version);
}
FAKEGPU_EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* out) {
  return nvmlSystemGetCudaDriverVersion_v2(out);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlSystemGetHicVersion(unsigned* count, nvmlHwbcEntry_t* entries) {
  (void)entries;
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  return Put(count, 0);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t* out) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *out = {};
  return NVML_SUCCESS;
}

FAKEGPU_EXPORT nvmlReturn_t nvmlSystemGetConfComputeCapabilities(nvmlConfComputeSystemCaps_t* out) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *out = {};
  return NVML_SUCCESS;
}

FAKEGPU_EXPORT nvmlReturn_t nvmlSystemGetConfComputeGpusReadyState(unsigned* out) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  return Put(out, TheMachine()->cc_ready);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlUnitGetCount(unsigned* count) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  return Put(count, 0);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned* count) { return Put(count, 0); }
FAKEGPU_EXPORT nvmlReturn_t nvmlGetBlacklistDeviceCount(unsigned* count) { return Put(count, 0); }
FAKEGPU_EXPORT nvmlReturn_t nvmlGetBlacklistDeviceInfoByIndex(unsigned, nvmlExcludedDeviceInfo_t*) {
  return NVML_ERROR_INVALID_ARGUMENT;
}
FAKEGPU_EXPORT nvmlReturn_t nvmlGetExcludedDeviceInfoByIndex(unsigned, nvmlExcludedDeviceInfo_t*) {
  return NVML_ERROR_INVALID_ARGUMENT;
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  return Put(count, VisibleCount());
}
FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetCount(unsigned* count) {
  return nvmlDeviceGetCount_v2(count);
}

namespace {

nvmlReturn_t Hand(const char* call, nvmlDevice_t found, nvmlDevice_t* out) {
  const Gpu* gpu = nullptr;
  MigDevice mig{};
  if (nvmlReturn_t no = Resolve(call, found, gpu, mig); no != NVML_SUCCESS) return no;
  *out = found;
  return NVML_SUCCESS;
}

// Hands out the first visible GPU of which is(gpu) holds.
template <class Is>
nvmlReturn_t HandFirst(const char* call, nvmlDevice_t* out, Is is) {
  for (u32 index = 0; index < VisibleCount(); ++index) {
    nvmlDevice_t device = VisibleAt(index);
    if (is(GpuAt(PositionOf(device)))) return Hand(call, device, out);
  }
  return NVML_ERROR_NOT_FOUND;
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* out) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  if (out == nullptr || index >= VisibleCount()) return NVML_ERROR_INVALID_ARGUMENT;
  return Hand(__func__, VisibleAt(index), out);
}
FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* out) {
  return nvmlDeviceGetHandleByIndex_v2(index, out);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* out) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  if (uuid == nullptr || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (u32 index = 0; strncmp(uuid, "MIG-", 4) == 0 && index < VisibleCount(); ++index) {
    if (nvmlDevice_t mig = MigDeviceOfUuid(VisibleAt(index), uuid); mig != nullptr) {
      return Hand(__func__, mig, out);
    }
  }
  return HandFirst(__func__, out, [&](const Gpu& gpu) { return strcasecmp(gpu.uuid, uuid) == 0; });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* out) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  if (serial == nullptr || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return HandFirst(__func__, out, [&](const Gpu& gpu) { return strcmp(gpu.serial, serial) == 0; });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id,
                                                             nvmlDevice_t* out) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  if (bus_id == nullptr || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (sscanf(bus_id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4) {
    domain = 0;
    if (sscanf(bus_id, "%x:%x.%x", &bus, &slot, &function) != 3) return NVML_ERROR_INVALID_ARGUMENT;
  }
  return HandFirst(__func__, out, [&](const Gpu& gpu) {
    return function == 0 && gpu.pci_domain == domain && gpu.pci_bus == bus && gpu.pci_slot == slot;
  });
}
FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* out) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, out);
}
