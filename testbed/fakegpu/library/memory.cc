// SPDX-License-Identifier: Apache-2.0
// Answers about a GPU's memory: how much, how much is used, and what ECC, page retirement and row
// remapping saw.
#include <initializer_list>

#include "session.h"

using namespace fakegpu;

namespace {

// A MIG device has the memory of its GPU instance, and of it is used what processes there use; the
// tool may have said more than there is.
nvmlMemory_v2_t Memory(const Gpu& gpu, const MigDevice* mig) {
  nvmlMemory_v2_t memory{nvmlMemory_v2, gpu.memory_total, gpu.memory_reserved, 0, gpu.memory_used};
  if (mig != nullptr) {
    memory.total = mig->profile->memory << 20;
    memory.reserved = memory.used = 0;
    for (u32 i = 0; i < gpu.process_count && i < kMaxProcesses; ++i) {
      if (gpu.processes[i].gpu_instance == mig->gpu_instance)
        memory.used += gpu.processes[i].memory;
    }
  }
  u64 room = memory.total > memory.reserved ? memory.total - memory.reserved : 0;
  if (memory.used > room) memory.used = room;
  memory.free = room - memory.used;
  return memory;
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* out) {
  return OnEither(__func__, device, [&](const Gpu& gpu, const MigDevice* mig) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlMemory_v2_t memory = Memory(gpu, mig);
    // Version 1 counts what the driver reserves as used.
    *out = {memory.total, memory.free, memory.used + memory.reserved};
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* out) {
  return OnEither(__func__, device, [&](const Gpu& gpu, const MigDevice* mig) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *out = Memory(gpu, mig);
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device,
                                                        nvmlBAR1Memory_t* out) {
  return OnEither(__func__, device, [&](const Gpu& gpu, const MigDevice* mig) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu.bar1_total == kUnknown64) return NVML_ERROR_NOT_SUPPORTED;
    u64 total = gpu.bar1_total, used = gpu.bar1_used;
    if (mig != nullptr) {
      total = total / gpu.mig_memory_slices * mig->profile->size;
      used = 0;
    }
    if (used > total) used = total;
    *out = {total, total - used, used};
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetConfComputeMemSizeInfo(nvmlDevice_t device,
                                                                nvmlConfComputeMemSizeInfo_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *out = {0, gpu.memory_total >> 10};
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetConfComputeProtectedMemoryUsage(nvmlDevice_t device,
                                                                         nvmlMemory_t* out) {
  return OnGpu(__func__, device, [&](const Gpu&) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *out = {};
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current,
                                                 nvmlEnableState_t* pending) {
  return OnEither(__func__, device, [&](const Gpu& gpu, const MigDevice*) {
    nvmlReturn_t no = PutEnum(current, gpu.ecc);
    return no == NVML_SUCCESS ? PutEnum(pending, gpu.ecc_pending) : no;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t device,
                                                        nvmlEnableState_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    return PutEnum(out, gpu.ecc == kUnknown32 ? kUnknown32 : 1);
  });
}

namespace {

const u64* Counters(const Gpu& gpu, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter) {
  bool corrected = type == NVML_MEMORY_ERROR_TYPE_CORRECTED;
  if (counter == NVML_VOLATILE_ECC) {
    return corrected ? gpu.ecc_volatile_corrected : gpu.ecc_volatile_uncorrected;
  }
  return corrected ? gpu.ecc_aggregate_corrected : gpu.ecc_aggregate_uncorrected;
}

u64 Sum(const u64* counters) {
  u64 sum = 0;
  for (int location = 0; location < NVML_MEMORY_LOCATION_COUNT; ++location) {
    if (counters[location] != kUnknown64) sum += counters[location];
  }
  return sum;
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device,
                                                        nvmlMemoryErrorType_t type,
                                                        nvmlEccCounterType_t counter,
                                                        unsigned long long* out) {
  return OnEither(__func__, device, [&](const Gpu& gpu, const MigDevice*) {
    return gpu.ecc != 1 ? NVML_ERROR_NOT_SUPPORTED : Put(out, Sum(Counters(gpu, type, counter)));
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device,
                                                            nvmlMemoryErrorType_t type,
                                                            nvmlEccCounterType_t counter,
                                                            nvmlMemoryLocation_t location,
                                                            unsigned long long* out) {
  return OnEither(__func__, device, [&](const Gpu& gpu, const MigDevice*) {
    if (location >= NVML_MEMORY_LOCATION_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    return gpu.ecc != 1 ? NVML_ERROR_NOT_SUPPORTED
                        : Put(out, Counters(gpu, type, counter)[location]);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t device,
                                                           nvmlMemoryErrorType_t type,
                                                           nvmlEccCounterType_t counter,
                                                           nvmlEccErrorCounts_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu.ecc != 1) return NVML_ERROR_NOT_SUPPORTED;
    auto known = [](u64 value) { return value == kUnknown64 ? 0 : value; };
    const u64* counters = Counters(gpu, type, counter);
    out->l1Cache = known(counters[NVML_MEMORY_LOCATION_L1_CACHE]);
    out->l2Cache = known(counters[NVML_MEMORY_LOCATION_L2_CACHE]);
    out->deviceMemory = known(counters[NVML_MEMORY_LOCATION_DRAM]);
    out->registerFile = known(counters[NVML_MEMORY_LOCATION_REGISTER_FILE]);
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceClearEccErrorCounts(nvmlDevice_t device,
                                                          nvmlEccCounterType_t counter) {
  return ChangeGpu(__func__, device, [&](Gpu& gpu) {
    if (gpu.ecc != 1) return NVML_ERROR_NOT_SUPPORTED;
    for (auto type : {NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED}) {
      u64* counters = const_cast<u64*>(Counters(gpu, type, counter));
      for (int location = 0; location < NVML_MEMORY_LOCATION_COUNT; ++location) {
        if (counters[location] != kUnknown64) counters[location] = 0;
      }
    }
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* corrected,
                                                      unsigned* uncorrected, unsigned* pending,
                                                      unsigned* failed) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    nvmlReturn_t no = Put(corrected, gpu.remapped_correctable);
    if (no == NVML_SUCCESS) no = Put(uncorrected, gpu.remapped_uncorrectable);
    if (no == NVML_SUCCESS) no = Put(pending, gpu.remap_pending);
    if (no == NVML_SUCCESS) no = Put(failed, gpu.remap_failed);
    return no;
  });
}

FAKEGPU_EXPORT nvmlReturn_t
nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device, nvmlRowRemapperHistogramValues_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const u32* banks = gpu.remap_histogram;
    if (banks[0] == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
    *out = {banks[0], banks[1], banks[2], banks[3], banks[4]};
    return NVML_SUCCESS;
  });
}

namespace {

// The addresses of retired pages are made up; how many there are is the machine's.
nvmlReturn_t PutPages(const Gpu& gpu, nvmlPageRetirementCause_t cause, unsigned* count,
                      unsigned long long* addresses, unsigned long long* times) {
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  u32 pages = cause == NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR ? gpu.retired_double
                                                                       : gpu.retired_single;
  if (pages == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
  u32 room = *count;
  *count = pages;
  if (pages == 0) return NVML_SUCCESS;
  if (room < pages || addresses == nullptr) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (u32 page = 0; page < pages; ++page) {
    addresses[page] = 0x10000ULL * (page + 1);
    if (times != nullptr) times[page] = 0;
  }
  return NVML_SUCCESS;
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device,
                                                      nvmlPageRetirementCause_t cause,
                                                      unsigned* count,
                                                      unsigned long long* addresses) {
  return OnGpu(__func__, device,
               [&](const Gpu& gpu) { return PutPages(gpu, cause, count, addresses, nullptr); });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t device,
                                                         nvmlPageRetirementCause_t cause,
                                                         unsigned* count,
                                                         unsigned long long* addresses,
                                                         unsigned long long* times) {
  return OnGpu(__func__, device,
               [&](const Gpu& gpu) { return PutPages(gpu, cause, count, addresses, times); });
}

FAKEGPU_ENUM(nvmlDeviceGetRetiredPagesPendingStatus, nvmlEnableState_t, retire_pending)

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device,
                                                            nvmlEccSramErrorStatus_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != nvmlEccSramErrorStatus_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    constexpr int kSram = NVML_MEMORY_LOCATION_SRAM;
    if (gpu.ecc != 1 || gpu.ecc_volatile_corrected[kSram] == kUnknown64)
      return NVML_ERROR_NOT_SUPPORTED;
    *out = {};
    out->version = nvmlEccSramErrorStatus_v1;
    out->volatileCor = gpu.ecc_volatile_corrected[kSram];
    out->volatileUncSecDed = gpu.ecc_volatile_uncorrected[kSram];
    out->aggregateCor = gpu.ecc_aggregate_corrected[kSram];
    out->aggregateUncSecDed = gpu.ecc_aggregate_uncorrected[kSram];
    return NVML_SUCCESS;
  });
}
