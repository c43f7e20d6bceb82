// SPDX-License-Identifier: Apache-2.0
// Answers nvmlDeviceGetFieldValues: many numbers in one call, each by a number of its own
// (NVML_FI_*), each with a result of its own. The per-link fields come in runs: L0..L5 and the
// total where the field was born with six links, L6..L11 where twelve were added.
#include "session.h"

using namespace fakegpu;

namespace {

nvmlReturn_t PutValue(nvmlFieldValue_t& out, u64 value) {
  if (value == kUnknown64) return NVML_ERROR_NOT_SUPPORTED;
  out.valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
  out.value.ullVal = value;
  return NVML_SUCCESS;
}

nvmlReturn_t PutValue(nvmlFieldValue_t& out, u32 value) {
  if (value == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
  out.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
  out.value.uiVal = value;
  return NVML_SUCCESS;
}

nvmlReturn_t PutMarginOf(const Gpu& gpu, nvmlFieldValue_t& out, u32 temperature) {
  out.valueType = NVML_VALUE_TYPE_SIGNED_INT;
  return PutMargin(gpu, temperature, out.value.siVal);
}

// GA100 alone of the Ampere GPUs has no average; it is the one of compute capability 8.0.
bool HasAveragePower(const Gpu& gpu) {
  bool ga100 = gpu.architecture == NVML_DEVICE_ARCH_AMPERE && gpu.compute_minor == 0;
  return IsSince(gpu, NVML_DEVICE_ARCH_AMPERE) && !ga100;
}

// A sum over the GPU's links, or one link's number.
template <class Of>
nvmlReturn_t PutLinks(const Gpu& gpu, nvmlFieldValue_t& out, u32 link, Of of) {
  if (gpu.link_count == 0 || (link != kUnknown32 && link >= gpu.link_count)) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  if (link != kUnknown32) return PutValue(out, of(gpu.links[link]));
  u64 sum = 0;
  for (u32 i = 0; i < gpu.link_count; ++i) sum += of(gpu.links[i]);
  return PutValue(out, sum);
}

struct Run {
  unsigned first, count;
  u32 link;     // of `first`; a total stands alone
  int counter;  // nvmlNvLinkErrorCounter_t
};

constexpr Run kErrorRuns[] = {
    {NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L0, 6, 0, NVML_NVLINK_ERROR_DL_CRC_FLIT},
    {NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, 1, kUnknown32, NVML_NVLINK_ERROR_DL_CRC_FLIT},
    {NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L6, 6, 6, NVML_NVLINK_ERROR_DL_CRC_FLIT},
    {NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L0, 6, 0, NVML_NVLINK_ERROR_DL_CRC_DATA},
    {NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, 1, kUnknown32, NVML_NVLINK_ERROR_DL_CRC_DATA},
    {NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L6, 6, 6, NVML_NVLINK_ERROR_DL_CRC_DATA},
    {NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L0, 6, 0, NVML_NVLINK_ERROR_DL_REPLAY},
    {NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, 1, kUnknown32, NVML_NVLINK_ERROR_DL_REPLAY},
    {NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L6, 6, 6, NVML_NVLINK_ERROR_DL_REPLAY},
    {NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L0, 6, 0, NVML_NVLINK_ERROR_DL_RECOVERY},
    {NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, 1, kUnknown32, NVML_NVLINK_ERROR_DL_RECOVERY},
    {NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L6, 6, 6, NVML_NVLINK_ERROR_DL_RECOVERY},
    {NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L0, 12, 0, NVML_NVLINK_ERROR_DL_ECC_DATA},
    {NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL, 1, kUnknown32, NVML_NVLINK_ERROR_DL_ECC_DATA},
};

nvmlReturn_t PutLinkField(const Gpu& gpu, nvmlFieldValue_t& out) {
  for (const Run& run : kErrorRuns) {
    if (out.fieldId < run.first || out.fieldId >= run.first + run.count) continue;
    u32 link = run.link == kUnknown32 ? kUnknown32 : run.link + (out.fieldId - run.first);
    return PutLinks(gpu, out, link, [&](const Link& one) { return one.errors[run.counter]; });
  }
  auto speed = [&](u32 link) {
    if (gpu.link_count == 0 || link >= gpu.link_count) return NVML_ERROR_NOT_SUPPORTED;
    return PutValue(out, gpu.links[link].speed);
  };
  unsigned id = out.fieldId;
  if (id >= NVML_FI_DEV_NVLINK_SPEED_MBPS_L0 && id <= NVML_FI_DEV_NVLINK_SPEED_MBPS_L5) {
    return speed(id - NVML_FI_DEV_NVLINK_SPEED_MBPS_L0);
  }
  if (id >= NVML_FI_DEV_NVLINK_SPEED_MBPS_L6 && id <= NVML_FI_DEV_NVLINK_SPEED_MBPS_L11) {
    return speed(id - NVML_FI_DEV_NVLINK_SPEED_MBPS_L6 + 6);
  }
  auto scoped = [&](auto of) {
    return out.scopeId < gpu.link_count ? PutValue(out, of(gpu.links[out.scopeId]))
                                        : NVML_ERROR_NOT_SUPPORTED;
  };
  u64 grown = LinkGrowth(gpu);
  switch (id) {
    case NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON:
      return speed(0);
    case NVML_FI_DEV_NVLINK_LINK_COUNT:
      return PutValue(out, gpu.link_count);
    case NVML_FI_DEV_NVLINK_GET_SPEED:
      return scoped([](const Link& one) { return one.speed; });
    case NVML_FI_DEV_NVLINK_GET_STATE:
      return scoped([](const Link& one) { return one.active; });
    case NVML_FI_DEV_NVLINK_GET_VERSION:
      return scoped([](const Link& one) { return one.version; });
    case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX:
    case NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_TX:
      return PutLinks(gpu, out, out.scopeId, [grown](const Link& one) { return one.sent + grown; });
    case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX:
    case NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX:
      return PutLinks(gpu, out, out.scopeId,
                      [grown](const Link& one) { return one.received + grown; });
    case NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT: {
      u32 count = 0;
      for (u32 i = 0; i < gpu.link_count; ++i) {
        if (gpu.links[i].remote_kind == NVML_NVLINK_DEVICE_TYPE_SWITCH) ++count;
      }
      return gpu.link_count == 0 ? NVML_ERROR_NOT_SUPPORTED : PutValue(out, count);
    }
    default:
      return NVML_ERROR_NOT_SUPPORTED;
  }
}

// ECC fields come in the order of the header: which location, corrected or not, volatile or
// aggregate.
nvmlReturn_t PutEccField(const Gpu& gpu, nvmlFieldValue_t& out) {
  if (gpu.ecc != 1) return NVML_ERROR_NOT_SUPPORTED;
  constexpr nvmlMemoryLocation_t kPlaces[] = {
      NVML_MEMORY_LOCATION_L1_CACHE, NVML_MEMORY_LOCATION_L2_CACHE, NVML_MEMORY_LOCATION_DRAM,
      NVML_MEMORY_LOCATION_REGISTER_FILE, NVML_MEMORY_LOCATION_TEXTURE_MEMORY};
  auto sum = [](const u64* counters) {
    u64 total = 0;
    for (int i = 0; i < NVML_MEMORY_LOCATION_COUNT; ++i)
      total += counters[i] == kUnknown64 ? 0 : counters[i];
    return total;
  };
  switch (out.fieldId) {
    case NVML_FI_DEV_ECC_SBE_VOL_TOTAL:
      return PutValue(out, sum(gpu.ecc_volatile_corrected));
    case NVML_FI_DEV_ECC_DBE_VOL_TOTAL:
      return PutValue(out, sum(gpu.ecc_volatile_uncorrected));
    case NVML_FI_DEV_ECC_SBE_AGG_TOTAL:
      return PutValue(out, sum(gpu.ecc_aggregate_corrected));
    case NVML_FI_DEV_ECC_DBE_AGG_TOTAL:
      return PutValue(out, sum(gpu.ecc_aggregate_uncorrected));
    case NVML_FI_DEV_ECC_DBE_VOL_CBU:
      return PutValue(out, gpu.ecc_volatile_uncorrected[NVML_MEMORY_LOCATION_CBU]);
    case NVML_FI_DEV_ECC_DBE_AGG_CBU:
      return PutValue(out, gpu.ecc_aggregate_uncorrected[NVML_MEMORY_LOCATION_CBU]);
    default:
      break;
  }
  bool aggregate = out.fieldId >= NVML_FI_DEV_ECC_SBE_AGG_L1;
  unsigned at = out.fieldId - (aggregate ? NVML_FI_DEV_ECC_SBE_AGG_L1 : NVML_FI_DEV_ECC_SBE_VOL_L1);
  nvmlMemoryLocation_t place = kPlaces[at / 2];
  if (at % 2 == 0) {
    return PutValue(
        out, aggregate ? gpu.ecc_aggregate_corrected[place] : gpu.ecc_volatile_corrected[place]);
  }
  return PutValue(
      out, aggregate ? gpu.ecc_aggregate_uncorrected[place] : gpu.ecc_volatile_uncorrected[place]);
}

nvmlReturn_t PutField(nvmlDevice_t device, const Gpu& gpu, nvmlFieldValue_t& out) {
  unsigned id = out.fieldId;
  if (id >= NVML_FI_DEV_ECC_SBE_VOL_TOTAL && id <= NVML_FI_DEV_ECC_DBE_AGG_CBU)
    return PutEccField(gpu, out);
  if (id >= NVML_FI_DEV_PERF_POLICY_POWER && id <= NVML_FI_DEV_PERF_POLICY_RELIABILITY) {
    return PutValue(out, ViolationTime(gpu, id - NVML_FI_DEV_PERF_POLICY_POWER));
  }
  bool power = id >= NVML_FI_DEV_POWER_AVERAGE && id <= NVML_FI_DEV_POWER_REQUESTED_LIMIT &&
               id != NVML_FI_DEV_ENERGY;
  if (power && out.scopeId != NVML_POWER_SCOPE_GPU)
    return NVML_ERROR_NOT_SUPPORTED;  // of modules of CPU and GPU
  switch (id) {
    case NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED:
      return PutValue(out, u32{gpu.mig_capable == 1 && IsSince(gpu, NVML_DEVICE_ARCH_HOPPER)});
    case NVML_FI_DEV_IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE:
      return PutValue(out, u32{gpu.mig_capable == 1 && TellsProfilesWithoutMode()});
    case NVML_FI_DEV_ECC_CURRENT:
      return PutValue(out, gpu.ecc);
    case NVML_FI_DEV_ECC_PENDING:
      return PutValue(out, gpu.ecc_pending);
    case NVML_FI_DEV_RETIRED_SBE:
      return PutValue(out, gpu.retired_single);
    case NVML_FI_DEV_RETIRED_DBE:
      return PutValue(out, gpu.retired_double);
    case NVML_FI_DEV_RETIRED_PENDING:
    case NVML_FI_DEV_RETIRED_PENDING_SBE:
    case NVML_FI_DEV_RETIRED_PENDING_DBE:
      return PutValue(out, gpu.retire_pending);
    case NVML_FI_DEV_GET_GPU_RECOVERY_ACTION:
      return PutValue(out, gpu.recovery_action);
    case NVML_FI_DEV_MEMORY_TEMP:
      return PutValue(out, gpu.temperature_memory);
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
    case NVML_FI_DEV_ENERGY: {
      unsigned long long energy = kUnknown64;
      nvmlDeviceGetTotalEnergyConsumption(device, &energy);
      return PutValue(out, u64{energy});
    }
    case NVML_FI_DEV_PCIE_REPLAY_COUNTER:
      return PutValue(out, gpu.pcie_replays);
    case NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER:
      return PutValue(out, u32{0});
    case NVML_FI_DEV_REMAPPED_COR:
      return PutValue(out, gpu.remapped_correctable);
    case NVML_FI_DEV_REMAPPED_UNC:
      return PutValue(out, gpu.remapped_uncorrectable);
    case NVML_FI_DEV_REMAPPED_PENDING:
      return PutValue(out, gpu.remap_pending);
    case NVML_FI_DEV_REMAPPED_FAILURE:
      return PutValue(out, gpu.remap_failed);
    case NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT:
      return PutMarginOf(gpu, out, gpu.temperature_shutdown);
    case NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT:
      return PutMarginOf(gpu, out, gpu.temperature_slowdown);
    case NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT:  // the memory's margin has a zero of its own
      return gpu.temperature_memory_max == kUnknown32
                 ? NVML_ERROR_NOT_SUPPORTED
                 : PutMarginOf(gpu, out, gpu.temperature_gpu_max);
    case NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT:
      return PutMarginOf(gpu, out, gpu.temperature_gpu_max);
    case NVML_FI_DEV_POWER_AVERAGE:
      return HasAveragePower(gpu) ? PutValue(out, gpu.power) : NVML_ERROR_NOT_SUPPORTED;
    case NVML_FI_DEV_POWER_INSTANT:
      return PutValue(out, gpu.power);
    case NVML_FI_DEV_POWER_MIN_LIMIT:
      return PutValue(out, gpu.power_min);
    case NVML_FI_DEV_POWER_MAX_LIMIT:
      return PutValue(out, gpu.power_max);
    case NVML_FI_DEV_POWER_DEFAULT_LIMIT:
      return PutValue(out, gpu.power_default);
    case NVML_FI_DEV_POWER_CURRENT_LIMIT:
    case NVML_FI_DEV_POWER_REQUESTED_LIMIT:
      return PutValue(out, gpu.power_limit);
    default:
      return PutLinkField(gpu, out);
  }
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count,
                                                     nvmlFieldValue_t* values) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (values == nullptr || count < 1) return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < count; ++i) {
      values[i].timestamp = static_cast<long long>(TimeStamp());
      values[i].latencyUsec = 0;
      bool fails = values[i].fieldId == gpu.failing_field;
      values[i].nvmlReturn = fails ? NVML_ERROR_UNKNOWN : PutField(device, gpu, values[i]);
    }
    return NVML_SUCCESS;
  });
}
