// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace gantry::metrics_exporter {

// DCGM's health watches of a GPU, in its order.
enum class Watch : uint8_t {
  kPcie,
  kNvLink,
  kPmu,
  kMcu,
  kMemory,
  kSm,
  kInforom,
  kThermal,
  kPower,
  kDriver,
  kAll  // what concerns the entire GPU; it says nothing about the others
};
inline constexpr size_t kWatches = 11;
std::string_view WatchName(Watch watch);  // "PCIE", as dcgm-exporter prints it

enum class Verdict : uint8_t { kPass = 0, kWarn = 10, kFail = 20 };  // DCGM's numbers

struct WatchState {
  Verdict verdict = Verdict::kPass;
  std::string_view code = "DCGM_FR_OK";
  bool operator==(const WatchState&) const = default;
};

// What a GPU says of itself; nullopt: it has no such thing, or gave no answer. Units are NVML's,
// and counters only grow.
struct HealthReadings {
  std::optional<double> compute_capability = {};  // major * 65536 + minor
  std::optional<double> pcie_replays = {};
  std::optional<double> pcie_generation = {};
  std::optional<double> pcie_width = {};
  std::optional<double> double_bit_errors = {};  // volatile
  std::optional<double> retired_single = {};
  std::optional<double> retired_double = {};
  std::optional<double> retirement_pending = {};
  std::optional<double> remapped_uncorrectable = {};
  std::optional<double> remap_failed = {};
  std::optional<double> inforom_valid = {};
  std::optional<double> thermal_violation = {};
  std::optional<double> power_violation = {};  // ns
  bool power_unreadable = false;
  std::optional<double> recovery_action = {};  // nvmlDeviceGpuRecoveryAction_t
  std::optional<double> link_crc_flit = {};
  std::optional<double> link_crc_data = {};
  std::optional<double> link_replays = {};
  std::optional<double> link_recoveries = {};
  std::optional<double> link_errors = {};     // since NVLink 5
  std::optional<double> links_inactive = {};  // nullopt with MIG
  std::optional<double> fabric_state = {};
  std::optional<double> fabric_status = {};
  std::optional<double> fabric_health = {};
};

// The health of one GPU by DCGM 4.6's rules. An XID counts until Reset: in DCGM until its engine
// restarts.
class GpuHealth {
 public:
  void OnXid(uint64_t xid) { xids_.insert(xid); }
  void Look(const HealthReadings& readings, SteadyTime now);
  void Reset();

  // By Watch; all pass before the first look without an XID.
  [[nodiscard]] std::array<WatchState, kWatches> Watches() const;
  [[nodiscard]] const std::set<uint64_t>& xids() const { return xids_; }

 private:
  struct Sample {
    SteadyTime at;
    double value;
  };
  // By how much a counter has grown in the last minute, or week.
  double Growth(const char* name, const std::optional<double>& value, SteadyTime now,
                std::chrono::seconds in);

  void LookAtPcie(const HealthReadings& readings, SteadyTime now);
  void LookAtMemory(const HealthReadings& readings, SteadyTime now);
  void LookAtLinks(const HealthReadings& readings, SteadyTime now);
  void LookAtFabric(const HealthReadings& readings);
  void LookAtOthers(const HealthReadings& readings, SteadyTime now);

  std::set<uint64_t> xids_;
  std::optional<double> compute_capability_;
  std::map<std::string, std::deque<Sample>> samples_;
  std::array<WatchState, kWatches> seen_ = {};  // at the last look
};

}  // namespace gantry::metrics_exporter
