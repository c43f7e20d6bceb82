// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "nvml/nvml.h"

// Numbers and strings of a GPU that change or that only metrics use, read many at once.
namespace gantry::nvml {

// A reading, named after its NVML function. Some have an argument; units are NVML's.
enum class Source : uint8_t {
  kFieldValue,            // nvmlDeviceGetFieldValues; argument: NVML_FI_*, with a scope
  kClock,                 // MHz; argument: nvmlClockType_t
  kMaxClock,              // the same
  kApplicationsClock,     // the same
  kTemperature,           // degrees Celsius
  kTemperatureThreshold,  // the same; argument: nvmlTemperatureThresholds_t
  kTemperatureMargin,     // degrees until the GPU slows down
  kPower,                 // mW
  kPowerLimit,            // mW, these four and the next
  kPowerLimitMin,
  kPowerLimitMax,
  kPowerLimitDefault,
  kPowerLimitEnforced,
  kUtilizationGpu,  // percent, these four
  kUtilizationMemory,
  kUtilizationEncoder,
  kUtilizationDecoder,
  kMemoryTotal,  // bytes; of a MIG device its own
  kMemoryUsed,
  kMemoryFree,
  kMemoryReserved,
  kMemoryUsedRatio,  // used / (total - reserved), 0 to 1
  kBar1Total,        // bytes
  kBar1Used,
  kBar1Free,
  kPcieReplays,
  kPcieThroughput,  // KB/s over the last 20 ms, the call waits as long; nvmlPcieUtilCounter_t
  kPcieGeneration,
  kPcieWidth,
  kPcieMaxGeneration,
  kPcieMaxWidth,
  kPerformanceState,
  kFanSpeed,            // percent
  kClocksEventReasons,  // bits
  kAutoBoost,
  kRetiredPages,    // argument: nvmlPageRetirementCause_t
  kMemoryErrors,    // argument: nvmlMemoryLocation_t, scope: EccCount
  kSramThreshold,   // 0 or 1
  kRemapHistogram,  // banks; argument: 0 max, 1 high, 2 partial, 3 low, 4 none
  kNvLinkErrors,    // argument: nvmlNvLinkErrorCounter_t, scope: link
  kComputeMode,
  kPersistenceMode,
  kMigMode,
  kMaxMigDevices,
  kVirtualizationMode,
  kGpmSupport,
  kComputeCapability,  // major * 65536 + minor
  kPciDeviceId,
  kPciSubsystemId,
  kInforomChecksum,
  kInforomValid,
  kLicensed,        // of a virtual GPU: 0 or 1
  kFabric,          // argument: FabricPart
  kCpuAffinity,     // argument: which word of 64 bits
  kMemoryAffinity,  // the same
  kText,            // argument: TextPart
};

// Scopes and arguments that NVML has no name for.
enum EccCount : unsigned { kVolatileSingle, kVolatileDouble, kAggregateSingle, kAggregateDouble };
enum FabricPart : unsigned {
  kFabricState,
  kFabricStatus,
  kFabricUuid,
  kFabricClique,
  kFabricHealth
};
enum TextPart : unsigned {
  kBrandText,
  kSerial,
  kVbios,
  kInforomImage,
  kInforomOem,
  kInforomEcc,
  kInforomPower
};

struct Reading {
  Source source;
  unsigned argument = 0;
  unsigned scope = 0;
  bool operator==(const Reading&) const = default;
};

using Value = std::variant<double, std::string>;
// A failed reading says nothing about the others.
using Answer = std::expected<Value, ErrorKind>;

// A GPU or MIG device that was looked up, for several questions: the driver takes long to find a
// MIG device. Means nothing to another library, nor once the MIG device is destroyed.
struct FoundDevice {
  std::string uuid;
  void* device;  // nvmlDevice_t
};
// kNotFound: there is none; or it is lost. May hang, as NVML may.
Result<FoundDevice> Find(const Library& library, const std::string& uuid);

// The results of a GPU or MIG device, in the order of the readings. Field values are read in
// batches, and a call for several readings is made once. An error: there is no such GPU, or it is
// lost. May hang, as NVML may.
Result<std::vector<Answer>> Read(const Library& library, const FoundDevice& handle,
                                 std::span<const Reading> readings);
Result<std::vector<Answer>> Read(const Library& library, const std::string& uuid,
                                 std::span<const Reading> readings);

// Performance counters (GPM, since Hopper): what happened between two samples of a GPU, or of one
// of its GPU instances. Must be destroyed before the library.
class GpmSample {
 public:
  GpmSample(const Symbols& symbols, void* sample);
  GpmSample(const GpmSample&) = delete;
  GpmSample& operator=(const GpmSample&) = delete;
  ~GpmSample();

  // kUnsupported: this GPU has no GPM.
  static Result<std::unique_ptr<GpmSample>> Take(const Library& library, const std::string& uuid,
                                                 std::optional<unsigned> gpu_instance);
  // One result for each metric (nvmlGpmMetricId_t), in NVML's units: percent, MiB/s, counts.
  [[nodiscard]] std::vector<Answer> Since(const GpmSample& before,
                                          std::span<const unsigned> metrics) const;

 private:
  const Symbols& symbols_;
  void* sample_;
};

// "12.535.54": of the library. kNotFound as above.
Result<std::string> LibraryVersion(const Library& library);

}  // namespace gantry::nvml
