// SPDX-License-Identifier: Apache-2.0
// Is a GPU well? By the limits and the XIDs that DCGM's health watches know.
#include "operands/metrics_exporter/gpu_health.h"

#include <algorithm>
#include <cmath>

namespace gantry::metrics_exporter {
namespace {

using std::chrono::seconds;

constexpr seconds kMinute{60};
constexpr seconds kWeek{7 * 24 * 3600};

constexpr const char* kXidError = "DCGM_FR_XID_ERROR";
constexpr const char* kThrottledByHeat = "DCGM_FR_CLOCK_THROTTLE_THERMAL";
constexpr const char* kThrottledByPower = "DCGM_FR_CLOCK_THROTTLE_POWER";
constexpr const char* kReplayRate = "DCGM_FR_PCI_REPLAY_RATE";
constexpr const char* kPendingRetirement = "DCGM_FR_PENDING_PAGE_RETIREMENTS";
constexpr const char* kRemapFailure = "DCGM_FR_ROW_REMAP_FAILURE";
constexpr const char* kLinkThreshold = "DCGM_FR_NVLINK_ERROR_THRESHOLD";
constexpr const char* kLinkCritical = "DCGM_FR_NVLINK_ERROR_CRITICAL";
constexpr const char* kCorruptInforom = "DCGM_FR_CORRUPT_INFOROM";
constexpr const char* kTraining = "DCGM_FR_FABRIC_MANAGER_TRAINING_ERROR";

struct XidRule {
  uint64_t xid;
  Watch watch;
  Verdict verdict;
  const char* code;
};

constexpr auto kXidRules = std::to_array<XidRule>({
    {48, Watch::kAll, Verdict::kFail, kXidError},
    {74, Watch::kAll, Verdict::kFail, kXidError},
    {79, Watch::kAll, Verdict::kFail, "DCGM_FR_FALLEN_OFF_BUS"},
    {94, Watch::kAll, Verdict::kWarn, "DCGM_FR_CONTAINED_ERROR"},
    {95, Watch::kAll, Verdict::kFail, "DCGM_FR_UNCONTAINED_ERROR"},
    {119, Watch::kAll, Verdict::kFail, kXidError},
    {120, Watch::kAll, Verdict::kFail, kXidError},
    {140, Watch::kAll, Verdict::kFail, kXidError},
    {31, Watch::kMemory, Verdict::kWarn, kXidError},
    {32, Watch::kMemory, Verdict::kWarn, kXidError},
    {43, Watch::kMemory, Verdict::kWarn, kXidError},
    {63, Watch::kMemory, Verdict::kWarn, kPendingRetirement},
    {64, Watch::kMemory, Verdict::kFail, kRemapFailure},
    {38, Watch::kPcie, Verdict::kWarn, kXidError},
    {39, Watch::kPcie, Verdict::kWarn, kXidError},
    {42, Watch::kPcie, Verdict::kWarn, kReplayRate},
    {60, Watch::kThermal, Verdict::kWarn, kThrottledByHeat},
    {61, Watch::kThermal, Verdict::kWarn, kXidError},
    {62, Watch::kThermal, Verdict::kWarn, "DCGM_FR_THERMAL_VIOLATIONS"},
    {54, Watch::kPower, Verdict::kWarn, kXidError},
    {56, Watch::kPower, Verdict::kWarn, kXidError},
    {57, Watch::kPower, Verdict::kWarn, kThrottledByPower},
    {58, Watch::kPower, Verdict::kWarn, kXidError},
    {78, Watch::kPower, Verdict::kWarn, kXidError},
    {67, Watch::kNvLink, Verdict::kWarn, kLinkThreshold},
    {73, Watch::kNvLink, Verdict::kWarn, kXidError},
    {121, Watch::kNvLink, Verdict::kWarn, kXidError},
    {137, Watch::kNvLink, Verdict::kWarn, kXidError},
    {93, Watch::kInforom, Verdict::kWarn, kCorruptInforom},
});

struct RecoveryRule {
  double action;
  Verdict verdict;
  const char* code;
};
constexpr auto kRecoveryRules = std::to_array<RecoveryRule>({
    {1, Verdict::kFail, "DCGM_FR_GPU_RECOVERY_RESET"},
    {2, Verdict::kFail, "DCGM_FR_GPU_RECOVERY_REBOOT"},
    {3, Verdict::kWarn, "DCGM_FR_GPU_RECOVERY_DRAIN_P2P"},
    {4, Verdict::kFail, "DCGM_FR_GPU_RECOVERY_DRAIN_RESET"},
    {5, Verdict::kFail, "DCGM_FR_GPU_RECOVERY_IMEX_DOMAIN"},
    {6, Verdict::kFail, "DCGM_FR_GPU_RECOVERY_RESET"},   // of the bus
    {7, Verdict::kFail, "DCGM_FR_GPU_RECOVERY_REBOOT"},  // of the system
});

// Replays a minute that a lane may have, by PCIe generation from 1.
constexpr std::array kReplaysOfLane = {0.15, 0.3, 0.48, 0.96, 1.92, 3.84};
constexpr double kMostRetired = 63;
constexpr double kMostRetiredDouble = 15;
constexpr double kMostRemapped = 512;
constexpr double kMostCrcOfSecond = 100;
constexpr double kVolta = 7 * 65536;
constexpr double kTuring = kVolta + 5;

// nvmlGpuFabricState_t.
constexpr double kFabricInProgress = 2;
constexpr double kFabricCompleted = 3;
// Parts of nvmlGpuFabricInfoV_t.healthMask: four of 2 bits, in which 1 is a fault, and the
// configuration's of 4 bits, in which 1 is none.
constexpr unsigned kHealthParts = 4;
constexpr unsigned kConfigurationShift = 8;

bool HasFault(double mask) {
  const auto bits = static_cast<uint64_t>(mask);
  for (unsigned part = 0; part < kHealthParts; ++part) {
    if ((bits >> (2 * part) & 3) == 1) {
      return true;
    }
  }
  return (bits >> kConfigurationShift & 0xf) > 1;
}

// The worse one stays.
void Judge(std::array<WatchState, kWatches>& watches, Watch watch, Verdict verdict,
           std::string_view code) {
  WatchState& state = watches.at(static_cast<size_t>(watch));
  if (verdict > state.verdict) {
    state = {verdict, code};
  }
}

}  // namespace

std::string_view WatchName(Watch watch) {
  constexpr std::array<std::string_view, kWatches> kNames = {
      "PCIE", "NVLINK", "PMU", "MCU", "MEM", "SM", "INFOROM", "THERMAL", "POWER", "DRIVER", "ALL"};
  return kNames.at(static_cast<size_t>(watch));
}

double GpuHealth::Growth(const char* name, const std::optional<double>& value, SteadyTime now,
                         seconds in) {
  auto& samples = samples_[name];
  if (!value || (!samples.empty() && *value < samples.back().value)) {
    samples.clear();  // it began anew
  }
  if (!value) {
    return 0;
  }
  if (samples.empty() || *value != samples.back().value) {
    samples.push_back({now, *value});
  }
  // The first one is what the counter was when the time began.
  while (samples.size() > 1 && samples[1].at <= now - in) {
    samples.pop_front();
  }
  return *value - samples.front().value;
}

void GpuHealth::LookAtPcie(const HealthReadings& readings, SteadyTime now) {
  const double replays = Growth("replays", readings.pcie_replays, now, kMinute);
  const auto generation = static_cast<size_t>(readings.pcie_generation.value_or(0));
  if (generation == 0 || !readings.pcie_width) {
    return;
  }
  const double of_lane = kReplaysOfLane.at(std::min(generation, kReplaysOfLane.size()) - 1);
  if (replays > std::ceil(*readings.pcie_width * of_lane)) {
    Judge(seen_, Watch::kPcie, Verdict::kWarn, kReplayRate);
  }
}

void GpuHealth::LookAtMemory(const HealthReadings& readings, SteadyTime now) {
  const auto judge = [this](bool wrong, Verdict verdict, std::string_view code) {
    if (wrong) {
      Judge(seen_, Watch::kMemory, verdict, code);
    }
  };
  const double twice = readings.retired_double.value_or(0);
  const double of_week = Growth("retired", readings.retired_double, now, kWeek);
  judge(readings.double_bit_errors.value_or(0) > 0, Verdict::kFail,
        "DCGM_FR_VOLATILE_DBE_DETECTED");
  judge(readings.remap_failed.value_or(0) > 0, Verdict::kFail, kRemapFailure);
  judge(readings.retired_single.value_or(0) + twice >= kMostRetired, Verdict::kFail,
        "DCGM_FR_RETIRED_PAGES_LIMIT");
  judge(twice > kMostRetiredDouble && of_week > 1, Verdict::kFail,
        "DCGM_FR_RETIRED_PAGES_DBE_LIMIT");
  judge(readings.retirement_pending.value_or(0) > 0, Verdict::kWarn, kPendingRetirement);
  judge(readings.remapped_uncorrectable.value_or(0) >= kMostRemapped, Verdict::kWarn,
        "DCGM_FR_UNCORRECTABLE_ROW_REMAP");
}

void GpuHealth::LookAtLinks(const HealthReadings& readings, SteadyTime now) {
  const double critical = Growth("link replays", readings.link_replays, now, kMinute) +
                          Growth("link recoveries", readings.link_recoveries, now, kMinute) +
                          Growth("link errors", readings.link_errors, now, kMinute);
  const double crc = Growth("link flits", readings.link_crc_flit, now, kMinute) +
                     Growth("link data", readings.link_crc_data, now, kMinute);
  if (readings.links_inactive.value_or(0) > 0) {
    Judge(seen_, Watch::kNvLink, Verdict::kFail, "DCGM_FR_NVLINK_DOWN");
  }
  if (critical > 0) {
    Judge(seen_, Watch::kNvLink, Verdict::kFail, kLinkCritical);
  }
  if (crc >= kMostCrcOfSecond * static_cast<double>(kMinute.count())) {
    Judge(seen_, Watch::kNvLink, Verdict::kFail, "DCGM_FR_NVLINK_CRC_ERROR_THRESHOLD");
  } else if (crc > 0) {
    Judge(seen_, Watch::kNvLink, Verdict::kWarn, kLinkThreshold);
  }
}

void GpuHealth::LookAtFabric(const HealthReadings& readings) {
  const double state = readings.fabric_state.value_or(0);
  if (state == kFabricInProgress) {
    Judge(seen_, Watch::kNvLink, Verdict::kWarn, kTraining);
  }
  if (state == kFabricCompleted &&
      (readings.fabric_status.value_or(0) != 0 || HasFault(readings.fabric_health.value_or(0)))) {
    Judge(seen_, Watch::kNvLink, Verdict::kFail, kTraining);
  }
}

void GpuHealth::LookAtOthers(const HealthReadings& readings, SteadyTime now) {
  if (readings.inforom_valid == 0) {
    Judge(seen_, Watch::kInforom, Verdict::kWarn, kCorruptInforom);
  }
  if (Growth("heat", readings.thermal_violation, now, kMinute) > 0) {
    Judge(seen_, Watch::kThermal, Verdict::kWarn, kThrottledByHeat);
  }
  if (Growth("power", readings.power_violation, now, kMinute) > 0) {
    Judge(seen_, Watch::kPower, Verdict::kWarn, kThrottledByPower);
  }
  if (readings.power_unreadable) {
    Judge(seen_, Watch::kPower, Verdict::kWarn, "DCGM_FR_POWER_UNREADABLE");
  }
  for (const RecoveryRule& rule : kRecoveryRules) {
    if (readings.recovery_action == rule.action) {
      Judge(seen_, Watch::kDriver, rule.verdict, rule.code);
    }
  }
}

void GpuHealth::Look(const HealthReadings& readings, SteadyTime now) {
  seen_ = {};
  compute_capability_ = readings.compute_capability;
  LookAtPcie(readings, now);
  LookAtMemory(readings, now);
  LookAtLinks(readings, now);
  LookAtFabric(readings);
  LookAtOthers(readings, now);
}

void GpuHealth::Reset() {
  xids_.clear();
  samples_.clear();
  seen_ = {};
}

std::array<WatchState, kWatches> GpuHealth::Watches() const {
  auto watches = seen_;
  const double capability = compute_capability_.value_or(0);
  for (const XidRule& rule : kXidRules) {
    const bool applies = rule.watch != Watch::kInforom ||
                         (capability >= kVolta && capability < kTuring);  // Volta's alone
    if (applies && xids_.contains(rule.xid)) {
      Judge(watches, rule.watch, rule.verdict, rule.code);
    }
  }
  return watches;
}

}  // namespace gantry::metrics_exporter
