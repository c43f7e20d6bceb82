// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <climits>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nvml/sample.h"

namespace gantry::metrics_exporter {

// Of what a field has a value: a GPU, each of its GPU instances if it is divided by MIG, or each of
// its NVLinks.
enum class Level : uint8_t { kGpu, kInstance, kLink };

// What a value is printed as. Ratios of bit errors are packed (nvml.h, NVML_NVLINK_BER_*). The
// memory's temperature is 0 where it has no sensor, as DCGM 4.6 has it.
enum class Shape : uint8_t { kNumber, kWhole, kTemperature, kMemoryTemperature, kBer, kText };

enum class From : uint8_t {
  kNvml,        // reading
  kGpm,         // reading.argument is a nvmlGpmMetricId_t: what happened between two samples
  kLinkRate,    // reading.argument is a LinkWay: growth of NVLink's counters over time
  kLinkBytes,   // the same counters themselves, in bytes
  kIdentity,    // reading.argument is an Identity
  kXid,         // the last XID
  kXidCount,    // those of a window, by number
  kXidTotal,    // those since the start, by number
  kClockCount,  // looks of a window that saw clocks held back, by reason
  kClockTotal,  // how often that began since the start, by reason
  kHealth,      // DCGM's health watches
  kPeers,       // whether the other GPUs are reached over NVLink
};

enum LinkWay : unsigned { kSent = 1, kReceived = 2, kBothWays = 3 };
enum Identity : unsigned {
  kDriverVersion,
  kNvmlVersion,
  kGpuCount,
  kCudaVersion,
  kName,
  kIndex,
  kUuid,
  kMinor,
  kPciBusId
};
// The scope of a field value that sums all links.
inline constexpr unsigned kAllLinks = UINT_MAX;

// A metric that can be asked for: a field of DCGM 4.6 (ids, types, levels and units are DCGM's), or
// one that dcgm-exporter makes itself (DCGM_EXP_*).
struct Field {
  std::string name;   // DCGM's newest: "DCGM_FI_DEV_BOARD_POWER_WATTS"
  std::string other;  // its name before 4.6: "DCGM_FI_DEV_POWER_USAGE"; may be empty
  Level level = Level::kGpu;
  Shape shape = Shape::kNumber;
  From from = From::kNvml;
  nvml::Reading reading = {};
  double factor = 1;  // from NVML's unit to DCGM's
};

// What to read of one link of a GPU.
nvml::Reading AtLink(From from, nvml::Reading reading, unsigned link);

// By either of its names, or by that of dcgm-exporter 1.x ("dcgm_gpu_temp"). nullopt: DCGM has no
// such field, or it can't be had from NVML (IsDcgmOnly).
std::optional<Field> FindField(std::string_view name);
// All of them, in DCGM's order.
std::vector<Field> AllFields();
// Whether DCGM has such a field, and only DCGM can read it: it is left out, not a mistake.
bool IsDcgmOnly(std::string_view name);
// The known name that is most like it; empty: none is.
std::string NearestName(std::string_view name);

// Rows of the tables that fields.cc joins. Names stand without their "DCGM_FI_"; in those of links
// "{}" stands for the link's number. A row is a whole number of a GPU unless it says otherwise.
struct FieldRow {
  const char* name;
  const char* other;
  nvml::Reading reading;
  Level level = Level::kGpu;
  Shape shape = Shape::kWhole;
  From from = From::kNvml;
  double factor = 1;

  constexpr FieldRow(const char* newest, const char* before, nvml::Source source,
                     unsigned argument = 0, unsigned scope = 0)
      : name(newest), other(before), reading{source, argument, scope} {}
  [[nodiscard]] constexpr FieldRow OfInstance() const {
    FieldRow row = *this;
    row.level = Level::kInstance;
    return row;
  }
  [[nodiscard]] constexpr FieldRow OfLink() const {
    FieldRow row = *this;
    row.level = Level::kLink;
    return row;
  }
  [[nodiscard]] constexpr FieldRow As(Shape printed) const {
    FieldRow row = *this;
    row.shape = printed;
    return row;
  }
  [[nodiscard]] constexpr FieldRow By(From way) const {
    FieldRow row = *this;
    row.from = way;
    return row;
  }
  [[nodiscard]] constexpr FieldRow Times(double by) const {
    FieldRow row = *this;
    row.factor = by;
    return row;
  }
};
inline constexpr double kMib = 1 << 20;
inline constexpr double kPerMib = 1 / kMib;
inline constexpr unsigned kLinks = 18;
std::span<const FieldRow> DeviceFields();
std::span<const FieldRow> FaultFields();
std::span<const FieldRow> NvLinkFields();
std::span<const FieldRow> ProfileFields();
std::span<const FieldRow> LinkFields();

}  // namespace gantry::metrics_exporter
