// SPDX-License-Identifier: Apache-2.0
// Answers how a GPU fares: temperature, power, clocks, utilization, fan, PCIe link. The numbers are
// read from the machine at each call, so what the tool writes is seen at once.
#include "session.h"

using namespace fakegpu;

FAKEGPU_NUMBER(nvmlDeviceGetFanSpeed, fan)
FAKEGPU_NUMBER(nvmlDeviceGetPowerUsage, power)
FAKEGPU_NUMBER(nvmlDeviceGetPowerManagementLimit, power_limit)
FAKEGPU_NUMBER(nvmlDeviceGetEnforcedPowerLimit, power_limit)
FAKEGPU_NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, power_default)
FAKEGPU_NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, pcie_generation_max)
FAKEGPU_NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, pcie_generation_max)
FAKEGPU_NUMBER(nvmlDeviceGetMaxPcieLinkWidth, pcie_width_max)
FAKEGPU_NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, pcie_generation)
FAKEGPU_NUMBER(nvmlDeviceGetCurrPcieLinkWidth, pcie_width)
FAKEGPU_NUMBER(nvmlDeviceGetPcieReplayCounter, pcie_replays)
FAKEGPU_ENUM(nvmlDeviceGetPerformanceState, nvmlPstates_t, performance_state)
FAKEGPU_ENUM(nvmlDeviceGetPowerState, nvmlPstates_t, performance_state)

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned fan,
                                                     unsigned* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    return fan > 0 ? NVML_ERROR_INVALID_ARGUMENT : Put(out, gpu.fan);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t device, unsigned* out) {
  return OnGpu(__func__, device,
               [&](const Gpu& gpu) { return Put(out, gpu.fan == kUnknown32 ? 0 : 1); });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device,
                                                     nvmlTemperatureSensors_t sensor,
                                                     unsigned* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    return sensor == NVML_TEMPERATURE_GPU ? Put(out, gpu.temperature) : NVML_ERROR_INVALID_ARGUMENT;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != nvmlTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (out->sensorType != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
    return PutEnum(&out->temperature, gpu.temperature);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device,
                                                              nvmlTemperatureThresholds_t threshold,
                                                              unsigned* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    switch (threshold) {
      case NVML_TEMPERATURE_THRESHOLD_SHUTDOWN:
        return Put(out, gpu.temperature_shutdown);
      case NVML_TEMPERATURE_THRESHOLD_SLOWDOWN:
        return Put(out, gpu.temperature_slowdown);
      case NVML_TEMPERATURE_THRESHOLD_MEM_MAX:
        return Put(out, gpu.temperature_memory_max);
      case NVML_TEMPERATURE_THRESHOLD_GPU_MAX:
        return Put(out, gpu.temperature_gpu_max);
      default:
        return NVML_ERROR_NOT_SUPPORTED;
    }
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device,
                                                           nvmlMarginTemperature_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != nvmlMarginTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return PutMargin(gpu, gpu.temperature, out->marginTemperature);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t device,
                                                             nvmlEnableState_t* out) {
  return OnGpu(__func__, device,
               [&](const Gpu& gpu) { return PutEnum(out, gpu.power_limit == kUnknown32 ? 0 : 1); });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device,
                                                                         unsigned* low,
                                                                         unsigned* high) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    nvmlReturn_t no = Put(low, gpu.power_min);
    return no == NVML_SUCCESS ? Put(high, gpu.power_max) : no;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                                unsigned long long* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (gpu.energy == kUnknown64 || gpu.energy_time == 0) return Put(out, gpu.energy);
    if (gpu.power == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
    u64 now = TimeStamp();
    u64 passed = now > gpu.energy_time ? now - gpu.energy_time : 0;
    return Put(out, gpu.energy + passed / 1000 * gpu.power / 1000);
  });
}

namespace {

// Microseconds from then until now; 0 where `then` is not known.
u64 Since(u64 then) {
  u64 now = TimeStamp();
  return then == kUnknown64 || then == 0 || then > now ? 0 : now - then;
}

}  // namespace

u64 fakegpu::LinkGrowth(const Gpu& gpu) {
  return gpu.link_rate == kUnknown32 ? 0 : Since(gpu.link_time) * gpu.link_rate / 1000000;
}

u64 fakegpu::ViolationTime(const Gpu& gpu, unsigned policy) {
  u64 reasons = policy == NVML_PERF_POLICY_POWER
                    ? nvmlClocksEventReasonSwPowerCap | nvmlClocksThrottleReasonHwPowerBrakeSlowdown
                : policy == NVML_PERF_POLICY_THERMAL ? nvmlClocksThrottleReasonSwThermalSlowdown |
                                                           nvmlClocksThrottleReasonHwThermalSlowdown
                                                     : 0;
  u64 time = gpu.violation_time[policy];
  bool grows = time != kUnknown64 && gpu.throttle_reasons != kUnknown64 &&
               (gpu.throttle_reasons & reasons) != 0;
  return grows ? time + Since(gpu.throttle_time) * 1000 : time;
}

namespace {

nvmlReturn_t PutClock(unsigned* out, nvmlClockType_t type, u32 graphics, u32 sm, u32 memory,
                      u32 video) {
  switch (type) {
    case NVML_CLOCK_GRAPHICS:
      return Put(out, graphics);
    case NVML_CLOCK_SM:
      return Put(out, sm);
    case NVML_CLOCK_MEM:
      return Put(out, memory);
    case NVML_CLOCK_VIDEO:
      return Put(out, video);
    default:
      return NVML_ERROR_INVALID_ARGUMENT;
  }
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                                   unsigned* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    return PutClock(out, type, gpu.clock_graphics, gpu.clock_sm, gpu.clock_memory, gpu.clock_video);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                                      unsigned* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    return PutClock(out, type, gpu.clock_graphics_max, gpu.clock_sm_max, gpu.clock_memory_max,
                    gpu.clock_video_max);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device,
                                                               nvmlClockType_t type,
                                                               unsigned* out) {
  return nvmlDeviceGetMaxClockInfo(device, type, out);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device,
                                                           nvmlClockType_t type, unsigned* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    return PutClock(out, type, gpu.application_graphics, gpu.application_graphics,
                    gpu.application_memory, kUnknown32);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device,
                                                                  nvmlClockType_t type,
                                                                  unsigned* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    return PutClock(out, type, gpu.application_graphics_default, gpu.application_graphics_default,
                    gpu.application_memory_default, kUnknown32);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t type,
                                               nvmlClockId_t id, unsigned* out) {
  switch (id) {
    case NVML_CLOCK_ID_CURRENT:
      return nvmlDeviceGetClockInfo(device, type, out);
    case NVML_CLOCK_ID_APP_CLOCK_TARGET:
      return nvmlDeviceGetApplicationsClock(device, type, out);
    case NVML_CLOCK_ID_APP_CLOCK_DEFAULT:
      return nvmlDeviceGetDefaultApplicationsClock(device, type, out);
    case NVML_CLOCK_ID_CUSTOMER_BOOST_MAX:
      return nvmlDeviceGetMaxClockInfo(device, type, out);
    default:
      return NVML_ERROR_INVALID_ARGUMENT;
  }
}

// As real boards have them: steps of 15 MHz below the highest, and the default.
bool fakegpu::IsGraphicsClock(const Gpu& gpu, u32 clock) {
  constexpr u32 kLowest = 210, kStep = 15;
  return clock >= kLowest && clock <= gpu.clock_graphics_max &&
         ((gpu.clock_graphics_max - clock) % kStep == 0 ||
          clock == gpu.application_graphics_default);
}

namespace {

// The clocks from `highest` down that are one of the GPU's.
template <class IsOne>
nvmlReturn_t PutClocks(unsigned* count, unsigned* clocks, u32 highest, IsOne is_one) {
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (highest == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
  unsigned known = 0;
  for (u32 clock = highest; clock > 0; --clock) {
    if (!is_one(clock)) continue;
    if (clocks != nullptr && known < *count) clocks[known] = clock;
    ++known;
  }
  bool room = clocks != nullptr && known <= *count;
  *count = known;
  return room ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned* count,
                                                               unsigned* clocks) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    return PutClocks(count, clocks, gpu.clock_memory_max,
                     [&](u32 clock) { return clock == gpu.clock_memory_max; });
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device,
                                                                 unsigned memory, unsigned* count,
                                                                 unsigned* clocks) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (memory != gpu.clock_memory_max) return NVML_ERROR_NOT_FOUND;
    return PutClocks(count, clocks, gpu.clock_graphics_max,
                     [&](u32 clock) { return IsGraphicsClock(gpu, clock); });
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device,
                                                          nvmlUtilization_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu.mig == 1) return NVML_ERROR_NOT_SUPPORTED;
    nvmlReturn_t no = Put(&out->gpu, gpu.utilization_gpu);
    return no == NVML_SUCCESS ? Put(&out->memory, gpu.utilization_memory) : no;
  });
}

namespace {

constexpr unsigned kSamplingPeriod =
    167000;  // microseconds, a sixth of a second, as Volta and later have it

nvmlReturn_t PutUtilization(unsigned* out, unsigned* period, u32 value) {
  nvmlReturn_t no = Put(out, value);
  return no == NVML_SUCCESS ? Put(period, kSamplingPeriod) : no;
}

}  // namespace

#define FAKEGPU_UTILIZATION(call, field)                                                       \
  FAKEGPU_EXPORT nvmlReturn_t call(nvmlDevice_t device, unsigned* out, unsigned* period) {     \
    return OnGpu(#call, device, [&](const Gpu& gpu) {                                          \
      return gpu.mig == 1 ? NVML_ERROR_NOT_SUPPORTED : PutUtilization(out, period, gpu.field); \
    });                                                                                        \
  }
FAKEGPU_UTILIZATION(nvmlDeviceGetEncoderUtilization, utilization_encoder)
FAKEGPU_UTILIZATION(nvmlDeviceGetDecoderUtilization, utilization_decoder)
FAKEGPU_UTILIZATION(nvmlDeviceGetJpgUtilization, utilization_jpeg)
FAKEGPU_UTILIZATION(nvmlDeviceGetOfaUtilization, utilization_ofa)

namespace {

u32 SampleOf(const Gpu& gpu, nvmlSamplingType_t type) {
  switch (type) {
    case NVML_TOTAL_POWER_SAMPLES:
      return gpu.power;
    case NVML_PROCESSOR_CLK_SAMPLES:
      return gpu.clock_sm;
    case NVML_MEMORY_CLK_SAMPLES:
      return gpu.clock_memory;
    default:
      break;
  }
  if (gpu.mig == 1) return kUnknown32;
  switch (type) {
    case NVML_GPU_UTILIZATION_SAMPLES:
      return gpu.utilization_gpu;
    case NVML_MEMORY_UTILIZATION_SAMPLES:
      return gpu.utilization_memory;
    case NVML_ENC_UTILIZATION_SAMPLES:
      return gpu.utilization_encoder;
    case NVML_DEC_UTILIZATION_SAMPLES:
      return gpu.utilization_decoder;
    case NVML_JPG_UTILIZATION_SAMPLES:
      return gpu.utilization_jpeg;
    case NVML_OFA_UTILIZATION_SAMPLES:
      return gpu.utilization_ofa;
    default:
      return kUnknown32;
  }
}

}  // namespace

// The driver's buffer of samples holds one here: how it is now.
FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type,
                                                 unsigned long long since, nvmlValueType_t* kind,
                                                 unsigned* count, nvmlSample_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (kind == nullptr || count == nullptr || type >= NVML_SAMPLINGTYPE_COUNT ||
        (out != nullptr && *count == 0)) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    u32 value = SampleOf(gpu, type);
    if (value == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
    u64 now = TimeStamp();
    if (now <= since) return NVML_ERROR_NOT_FOUND;
    *kind = NVML_VALUE_TYPE_UNSIGNED_INT;
    *count = 1;
    if (out != nullptr) {
      out[0].timeStamp = now;
      out[0].sampleValue.uiVal = value;
    }
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device,
                                                        nvmlPcieUtilCounter_t counter,
                                                        unsigned* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    switch (counter) {
      case NVML_PCIE_UTIL_TX_BYTES:
        return Put(out, gpu.pcie_sent);
      case NVML_PCIE_UTIL_RX_BYTES:
        return Put(out, gpu.pcie_received);
      default:
        return NVML_ERROR_INVALID_ARGUMENT;
    }
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                                      unsigned long long* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) { return Put(out, gpu.throttle_reasons); });
}
FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                                   unsigned long long* out) {
  return nvmlDeviceGetCurrentClocksThrottleReasons(device, out);
}
FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t device,
                                                                        unsigned long long* out) {
  return OnGpu(__func__, device, [&](const Gpu&) { return Put(out, nvmlClocksEventReasonAll); });
}
FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t device,
                                                                     unsigned long long* out) {
  return nvmlDeviceGetSupportedClocksThrottleReasons(device, out);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device,
                                                         nvmlPerfPolicyType_t policy,
                                                         nvmlViolationTime_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (policy > NVML_PERF_POLICY_RELIABILITY) return NVML_ERROR_NOT_SUPPORTED;
    out->referenceTime = TimeStamp();
    return Put(&out->violationTime, ViolationTime(gpu, policy));
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetEncoderStats(nvmlDevice_t device, unsigned* sessions,
                                                      unsigned* frames, unsigned* latency) {
  return OnGpu(__func__, device, [&](const Gpu&) {
    if (sessions == nullptr || frames == nullptr || latency == nullptr)
      return NVML_ERROR_INVALID_ARGUMENT;
    *sessions = *frames = *latency = 0;
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetFBCStats(nvmlDevice_t device, nvmlFBCStats_t* out) {
  return OnGpu(__func__, device, [&](const Gpu&) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *out = {};
    return NVML_SUCCESS;
  });
}
