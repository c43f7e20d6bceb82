// SPDX-License-Identifier: Apache-2.0
// What does a GPU measure right now? Many readings at once, each with its own result: a driver or
// board lacks some of them, and one that fails does not affect the others.
#include "nvml/sample.h"

#include <algorithm>
#include <array>

#include "nvml/errors.h"
#include "nvml/reader.h"

namespace gantry::nvml {
namespace {

// As many field values as DCGM reads at once.
constexpr size_t kBatch = 128;

}  // namespace

std::vector<Answer> Reader::Read(std::span<const Reading> readings) {
  std::vector<Answer> answers(readings.size(), std::unexpected(ErrorKind::kUnsupported));
  ReadFields(readings, answers);
  for (size_t i = 0; i < readings.size() && !lost_; ++i) {
    if (readings[i].source != Source::kFieldValue) {
      answers[i] = Ask(readings[i]);
    }
  }
  return answers;
}

void Reader::ReadFields(std::span<const Reading> readings, std::vector<Answer>& answers) {
  std::vector<nvmlFieldValue_t> fields;
  std::vector<size_t> places;
  for (size_t i = 0; i < readings.size(); ++i) {
    if (readings[i].source == Source::kFieldValue) {
      nvmlFieldValue_t& field = fields.emplace_back();
      field.fieldId = readings[i].argument;
      field.scopeId = readings[i].scope;
      places.push_back(i);
    }
  }
  for (size_t from = 0; from < fields.size() && !lost_; from += kBatch) {
    const size_t count = std::min(kBatch, fields.size() - from);
    const nvmlReturn_t code =
        Call(nvml_.nvmlDeviceGetFieldValues, device_, static_cast<int>(count), &fields[from]);
    for (size_t i = from; i < from + count; ++i) {
      answers[places[i]] = FieldAnswer(code, fields[i]);
    }
  }
}

Answer Reader::FieldAnswer(nvmlReturn_t code, const nvmlFieldValue_t& field) {
  if (code != NVML_SUCCESS || field.nvmlReturn != NVML_SUCCESS) {
    return Failed(code != NVML_SUCCESS ? code : field.nvmlReturn);
  }
  switch (field.valueType) {
    case NVML_VALUE_TYPE_DOUBLE:
      return Value(field.value.dVal);
    case NVML_VALUE_TYPE_UNSIGNED_INT:
      return Value(static_cast<double>(field.value.uiVal));
    case NVML_VALUE_TYPE_UNSIGNED_LONG:
      return Value(static_cast<double>(field.value.ulVal));
    case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
      return Value(static_cast<double>(field.value.ullVal));
    case NVML_VALUE_TYPE_SIGNED_LONG_LONG:
      return Value(static_cast<double>(field.value.sllVal));
    case NVML_VALUE_TYPE_SIGNED_INT:
      return Value(static_cast<double>(field.value.siVal));
    default:
      return std::unexpected(ErrorKind::kUnsupported);
  }
}

Answer Reader::Ask(const Reading& reading) {
  switch (reading.source) {
    case Source::kClock:
    case Source::kMaxClock:
    case Source::kApplicationsClock:
    case Source::kTemperature:
    case Source::kTemperatureThreshold:
    case Source::kTemperatureMargin:
    case Source::kClocksEventReasons:
    case Source::kAutoBoost:
      return AskClocks(reading);
    case Source::kPower:
    case Source::kPowerLimit:
    case Source::kPowerLimitMin:
    case Source::kPowerLimitMax:
    case Source::kPowerLimitDefault:
    case Source::kPowerLimitEnforced:
      return AskPower(reading);
    case Source::kUtilizationGpu:
    case Source::kUtilizationMemory:
    case Source::kUtilizationEncoder:
    case Source::kUtilizationDecoder:
      return AskUtilization(reading.source);
    case Source::kMemoryTotal:
    case Source::kMemoryUsed:
    case Source::kMemoryFree:
    case Source::kMemoryReserved:
    case Source::kMemoryUsedRatio:
      return AskMemory(reading.source);
    case Source::kBar1Total:
    case Source::kBar1Used:
    case Source::kBar1Free:
      return AskBar1(reading.source);
    case Source::kPcieReplays:
    case Source::kPcieThroughput:
    case Source::kPcieGeneration:
    case Source::kPcieWidth:
    case Source::kPcieMaxGeneration:
    case Source::kPcieMaxWidth:
      return AskPcie(reading);
    case Source::kRetiredPages:
    case Source::kMemoryErrors:
    case Source::kSramThreshold:
    case Source::kRemapHistogram:
    case Source::kNvLinkErrors:
      return AskErrors(reading);
    default:
      return AskModes(reading);
  }
}

Answer Reader::AskClocks(const Reading& reading) {
  const auto clock = static_cast<nvmlClockType_t>(reading.argument);
  unsigned number = 0;
  switch (reading.source) {
    case Source::kClock: {
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetClockInfo, device_, clock, &number);
      return Said(code, number);
    }
    case Source::kMaxClock: {
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetMaxClockInfo, device_, clock, &number);
      return Said(code, number);
    }
    case Source::kApplicationsClock: {
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetApplicationsClock, device_, clock, &number);
      return Said(code, number);
    }
    case Source::kTemperature: {
      const nvmlReturn_t code =
          Call(nvml_.nvmlDeviceGetTemperature, device_, NVML_TEMPERATURE_GPU, &number);
      return Said(code, number);
    }
    case Source::kTemperatureThreshold: {
      const nvmlReturn_t code =
          Call(nvml_.nvmlDeviceGetTemperatureThreshold, device_,
               static_cast<nvmlTemperatureThresholds_t>(reading.argument), &number);
      return Said(code, number);
    }
    case Source::kTemperatureMargin: {
      nvmlMarginTemperature_t margin{.version = nvmlMarginTemperature_v1, .marginTemperature = 0};
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetMarginTemperature, device_, &margin);
      return Said(code, margin.marginTemperature);
    }
    case Source::kAutoBoost: {
      nvmlEnableState_t on = NVML_FEATURE_DISABLED;
      nvmlEnableState_t by_default = NVML_FEATURE_DISABLED;
      const nvmlReturn_t code =
          Call(nvml_.nvmlDeviceGetAutoBoostedClocksEnabled, device_, &on, &by_default);
      return Said(code, on);
    }
    default: {
      unsigned long long bits = 0;
      nvmlReturn_t code = Call(nvml_.nvmlDeviceGetCurrentClocksEventReasons, device_, &bits);
      if (code == NVML_ERROR_FUNCTION_NOT_FOUND) {  // its name before drivers of 535
        code = Call(nvml_.nvmlDeviceGetCurrentClocksThrottleReasons, device_, &bits);
      }
      return Said(code, bits);
    }
  }
}

Answer Reader::AskPower(const Reading& reading) {
  switch (reading.source) {
    case Source::kPower:
      return Number(nvml_.nvmlDeviceGetPowerUsage);
    case Source::kPowerLimit:
      return Number(nvml_.nvmlDeviceGetPowerManagementLimit);
    case Source::kPowerLimitDefault:
      return Number(nvml_.nvmlDeviceGetPowerManagementDefaultLimit);
    case Source::kPowerLimitEnforced:
      return Number(nvml_.nvmlDeviceGetEnforcedPowerLimit);
    default: {
      unsigned least = 0;
      unsigned most = 0;
      const nvmlReturn_t code =
          Call(nvml_.nvmlDeviceGetPowerManagementLimitConstraints, device_, &least, &most);
      return Said(code, reading.source == Source::kPowerLimitMin ? least : most);
    }
  }
}

Answer Reader::AskPcie(const Reading& reading) {
  switch (reading.source) {
    case Source::kPcieReplays:
      return Number(nvml_.nvmlDeviceGetPcieReplayCounter);
    case Source::kPcieGeneration:
      return Number(nvml_.nvmlDeviceGetCurrPcieLinkGeneration);
    case Source::kPcieWidth:
      return Number(nvml_.nvmlDeviceGetCurrPcieLinkWidth);
    case Source::kPcieMaxGeneration:
      return Number(nvml_.nvmlDeviceGetMaxPcieLinkGeneration);
    case Source::kPcieMaxWidth:
      return Number(nvml_.nvmlDeviceGetMaxPcieLinkWidth);
    default: {
      unsigned number = 0;
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetPcieThroughput, device_,
                                     static_cast<nvmlPcieUtilCounter_t>(reading.argument), &number);
      return Said(code, number);
    }
  }
}

Answer Reader::AskUtilization(Source source) {
  if (source == Source::kUtilizationEncoder || source == Source::kUtilizationDecoder) {
    unsigned number = 0;
    unsigned period = 0;
    const nvmlReturn_t code =
        Call(source == Source::kUtilizationEncoder ? nvml_.nvmlDeviceGetEncoderUtilization
                                                   : nvml_.nvmlDeviceGetDecoderUtilization,
             device_, &number, &period);
    return Said(code, number);
  }
  if (!utilization_) {
    nvmlUtilization_t both{};
    const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetUtilizationRates, device_, &both);
    utilization_ = {code, both};
  }
  const auto& [code, both] = *utilization_;
  return Said(code, source == Source::kUtilizationGpu ? both.gpu : both.memory);
}

Answer Reader::AskMemory(Source source) {
  if (!memory_) {
    nvmlMemory_v2_t now{};
    now.version = nvmlMemory_v2;
    nvmlReturn_t code = Call(nvml_.nvmlDeviceGetMemoryInfo_v2, device_, &now);
    if (code == NVML_ERROR_FUNCTION_NOT_FOUND) {  // drivers before 510: used includes reserved
      nvmlMemory_t earlier{};
      code = Call(nvml_.nvmlDeviceGetMemoryInfo, device_, &earlier);
      now = {.version = 0,
             .total = earlier.total,
             .reserved = 0,
             .free = earlier.free,
             .used = earlier.used};
    }
    memory_ = {code, now};
  }
  const auto& [code, memory] = *memory_;
  switch (source) {
    case Source::kMemoryTotal:
      return Said(code, memory.total);
    case Source::kMemoryUsed:
      return Said(code, memory.used);
    case Source::kMemoryFree:
      return Said(code, memory.free);
    case Source::kMemoryReserved:
      return memory.version == 0 ? std::unexpected(ErrorKind::kUnsupported)
                                 : Said(code, memory.reserved);
    default: {
      const auto usable = static_cast<double>(memory.total - memory.reserved);
      return code == NVML_SUCCESS && usable <= 0
                 ? std::unexpected(ErrorKind::kUnsupported)
                 : Said(code, static_cast<double>(memory.used) / std::max(usable, 1.0));
    }
  }
}

Answer Reader::AskBar1(Source source) {
  if (!bar1_) {
    nvmlBAR1Memory_t memory{};
    const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetBAR1MemoryInfo, device_, &memory);
    bar1_ = {code, memory};
  }
  const auto& [code, memory] = *bar1_;
  return Said(code, source == Source::kBar1Total  ? memory.bar1Total
                    : source == Source::kBar1Used ? memory.bar1Used
                                                  : memory.bar1Free);
}

Answer Reader::AskErrors(const Reading& reading) {
  switch (reading.source) {
    case Source::kRetiredPages: {
      unsigned count = 0;  // without room for addresses, only their number is returned
      const nvmlReturn_t code =
          Call(nvml_.nvmlDeviceGetRetiredPages, device_,
               static_cast<nvmlPageRetirementCause_t>(reading.argument), &count, nullptr);
      return Said(code == NVML_ERROR_INSUFFICIENT_SIZE ? NVML_SUCCESS : code, count);
    }
    case Source::kMemoryErrors: {
      unsigned long long count = 0;
      const bool twice = reading.scope == kVolatileDouble || reading.scope == kAggregateDouble;
      const bool lasting = reading.scope == kAggregateSingle || reading.scope == kAggregateDouble;
      const nvmlReturn_t code =
          Call(nvml_.nvmlDeviceGetMemoryErrorCounter, device_,
               twice ? NVML_MEMORY_ERROR_TYPE_UNCORRECTED : NVML_MEMORY_ERROR_TYPE_CORRECTED,
               lasting ? NVML_AGGREGATE_ECC : NVML_VOLATILE_ECC,
               static_cast<nvmlMemoryLocation_t>(reading.argument), &count);
      return Said(code, count);
    }
    case Source::kSramThreshold: {
      nvmlEccSramErrorStatus_t status{};
      status.version = nvmlEccSramErrorStatus_v1;
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetSramEccErrorStatus, device_, &status);
      return Said(code, status.bThresholdExceeded);
    }
    case Source::kRemapHistogram: {
      nvmlRowRemapperHistogramValues_t banks{};
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetRowRemapperHistogram, device_, &banks);
      const std::array all = {banks.max, banks.high, banks.partial, banks.low, banks.none};
      return Said(code, all.at(reading.argument));
    }
    default: {
      unsigned long long count = 0;
      const nvmlReturn_t code =
          Call(nvml_.nvmlDeviceGetNvLinkErrorCounter, device_, reading.scope,
               static_cast<nvmlNvLinkErrorCounter_t>(reading.argument), &count);
      return Said(code, count);
    }
  }
}

Result<nvmlDevice_t> HandleOf(const Symbols& nvml, const std::string& uuid) {
  nvmlDevice_t device = nullptr;
  const nvmlReturn_t code = Call(nvml.nvmlDeviceGetHandleByUUID, uuid.c_str(), &device);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetHandleByUUID", uuid, code);
  }
  return device;
}

Result<FoundDevice> Find(const Library& library, const std::string& uuid) {
  TRY_ASSIGN(const nvmlDevice_t device, HandleOf(library.symbols(), uuid));
  return FoundDevice{.uuid = uuid, .device = device};
}

Result<std::vector<Answer>> Read(const Library& library, const FoundDevice& handle,
                                 std::span<const Reading> readings) {
  Reader reader(library.symbols(), static_cast<nvmlDevice_t>(handle.device));
  std::vector<Answer> answers = reader.Read(readings);
  if (reader.lost()) {
    return FailNvml("read GPU", handle.uuid, NVML_ERROR_GPU_IS_LOST);
  }
  return answers;
}

Result<std::vector<Answer>> Read(const Library& library, const std::string& uuid,
                                 std::span<const Reading> readings) {
  TRY_ASSIGN(const FoundDevice handle, Find(library, uuid));
  return Read(library, handle, readings);
}

Result<std::string> LibraryVersion(const Library& library) {
  std::array<char, NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE> text{};
  const nvmlReturn_t code = Call(library.symbols().nvmlSystemGetNVMLVersion, text.data(),
                                 static_cast<unsigned>(text.size()));
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlSystemGetNVMLVersion", "", code);
  }
  return std::string(text.data());
}

}  // namespace gantry::nvml
