// SPDX-License-Identifier: Apache-2.0
// Which metrics are there? DCGM's fields as far as NVML knows them, under every name that they have
// had, and those that dcgm-exporter makes itself.
#include "operands/metrics_exporter/fields.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

constexpr std::string_view kPrefix = "DCGM_FI_";
constexpr size_t kLongestMeant = 100;  // no name is longer, and comparing takes its length

// What the exporter makes itself: the first is ours, the others are dcgm-exporter 4.8's.
constexpr auto kOwnRows = std::to_array<FieldRow>({
    FieldRow("NVLINK_BYTES_TOTAL", "", nvml::Source::kFieldValue, kBothWays, kAllLinks)
        .By(From::kLinkBytes),
    FieldRow("XID_ERRORS_COUNT", "", {}).By(From::kXidCount),
    FieldRow("XID_ERRORS_TOTAL", "", {}).By(From::kXidTotal),
    FieldRow("CLOCK_EVENTS_COUNT", "", {}).By(From::kClockCount),
    FieldRow("CLOCK_EVENTS_TOTAL", "", {}).By(From::kClockTotal),
    FieldRow("GPU_HEALTH_STATUS", "", {}).By(From::kHealth),
    FieldRow("P2P_STATUS", "", {}).By(From::kPeers),
});
constexpr std::string_view kOwnPrefix = "DCGM_EXP_";

// Names of dcgm-exporter 1.x that are no field's name in lower case.
struct OldName {
  std::string_view name;
  std::string_view field;
};
constexpr auto kOldNames = std::to_array<OldName>({
    {"dcgm_sm_clock", "DCGM_FI_DEV_SM_CLOCK"},
    {"dcgm_memory_clock", "DCGM_FI_DEV_MEM_CLOCK"},
    {"dcgm_memory_temp", "DCGM_FI_DEV_MEMORY_TEMP"},
    {"dcgm_gpu_temp", "DCGM_FI_DEV_GPU_TEMP"},
    {"dcgm_power_usage", "DCGM_FI_DEV_POWER_USAGE"},
    {"dcgm_total_energy_consumption", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"},
    {"dcgm_pcie_tx_throughput", "DCGM_FI_DEV_PCIE_TX_THROUGHPUT"},
    {"dcgm_pcie_rx_throughput", "DCGM_FI_DEV_PCIE_RX_THROUGHPUT"},
    {"dcgm_pcie_replay_counter", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER"},
    {"dcgm_gpu_utilization", "DCGM_FI_DEV_GPU_UTIL"},
    {"dcgm_mem_copy_utilization", "DCGM_FI_DEV_MEM_COPY_UTIL"},
    {"dcgm_enc_utilization", "DCGM_FI_DEV_ENC_UTIL"},
    {"dcgm_dec_utilization", "DCGM_FI_DEV_DEC_UTIL"},
    {"dcgm_xid_errors", "DCGM_FI_DEV_XID_ERRORS"},
    {"dcgm_power_violation", "DCGM_FI_DEV_POWER_VIOLATION"},
    {"dcgm_thermal_violation", "DCGM_FI_DEV_THERMAL_VIOLATION"},
    {"dcgm_sync_boost_violation", "DCGM_FI_DEV_SYNC_BOOST_VIOLATION"},
    {"dcgm_board_limit_violation", "DCGM_FI_DEV_BOARD_LIMIT_VIOLATION"},
    {"dcgm_low_util_violation", "DCGM_FI_DEV_LOW_UTIL_VIOLATION"},
    {"dcgm_reliability_violation", "DCGM_FI_DEV_RELIABILITY_VIOLATION"},
    {"dcgm_fb_free", "DCGM_FI_DEV_FB_FREE"},
    {"dcgm_fb_used", "DCGM_FI_DEV_FB_USED"},
    {"dcgm_ecc_sbe_volatile_total", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"},
    {"dcgm_ecc_dbe_volatile_total", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"},
    {"dcgm_ecc_sbe_aggregate_total", "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL"},
    {"dcgm_ecc_dbe_aggregate_total", "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL"},
    {"dcgm_retired_pages_sbe", "DCGM_FI_DEV_RETIRED_SBE"},
    {"dcgm_retired_pages_dbe", "DCGM_FI_DEV_RETIRED_DBE"},
    {"dcgm_retired_pages_pending", "DCGM_FI_DEV_RETIRED_PENDING"},
    {"dcgm_nvlink_flit_crc_error_count_total", "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"},
    {"dcgm_nvlink_data_crc_error_count_total", "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL"},
    {"dcgm_nvlink_replay_error_count_total", "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"},
    {"dcgm_nvlink_recovery_error_count_total", "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"},
    {"dcgm_nvlink_bandwidth_total", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"},
});

// Groups of fields that NVML does not know: of switches, network adapters, CPUs, diagnostic runs,
// fabric daemons and hosts of virtual GPUs; or that are no number and no text.
constexpr auto kOnlyDcgm = std::to_array<std::string_view>({
    "DCGM_FI_DEV_NVSWITCH_",
    "DCGM_FI_DEV_SXID_",
    "DCGM_FI_DEV_CONNECTX_",
    "DCGM_FI_DEV_CPU_",
    "DCGM_FI_DEV_SYSIO_",
    "DCGM_FI_DEV_MODULE_",
    "DCGM_FI_DEV_DIAG_",
    "DCGM_FI_IMEX_",
    "DCGM_FI_DEV_VGPU_",
    "DCGM_FI_DEV_PLATFORM_",
    "DCGM_FI_DEV_NVLINK_PP",
    "DCGM_FI_DEV_NVLINK_P2P_STATUS",
    "DCGM_FI_DEV_P2P_NVLINK_STATUS",
    "DCGM_FI_DEV_NVLINK_ERROR",
    "DCGM_FI_DEV_GPU_NVLINK_ERRORS",
    "DCGM_FI_DEV_MIG_ATTRIBUTES",
    "DCGM_FI_DEV_MIG_GI_INFO",
    "DCGM_FI_DEV_MIG_CI_INFO",
    "DCGM_FI_DEV_ENC_STATS",
    "DCGM_FI_DEV_FBC_",
    "DCGM_FI_DEV_SUPPORTED_",
    "DCGM_FI_DEV_CREATABLE_",
    "DCGM_FI_DEV_CLOCKS_SUPPORTED",
    "DCGM_FI_DEV_BOARD_POWER_PROFILE_",
    "DCGM_FI_DEV_REQUESTED_POWER_PROFILE_MASK",
    "DCGM_FI_DEV_ENFORCED_POWER_PROFILE_MASK",
    "DCGM_FI_DEV_VALID_POWER_PROFILE_MASK",
    "DCGM_FI_DEV_PROCESS_ACCOUNTING_STATS",
    "DCGM_FI_DEV_ACCOUNTING_DATA",
    "DCGM_FI_DEV_FABRIC_HEALTH_SUMMARY",
    "DCGM_FI_DEV_MEMORY_UNREPAIRABLE",
    "DCGM_FI_DEV_CC_MODE",
    "DCGM_FI_DEV_CUDA_VISIBLE_DEVICES_STR",
    "DCGM_FI_CUDA_GPU_VISIBLE_DEVICES",
    "DCGM_FI_SYSTEM_",
    "DCGM_FI_PROCESS_NAME",
    "DCGM_FI_BIND_UNBIND_EVENT",
    "DCGM_FI_GPU_TOPOLOGY_",
    "DCGM_FI_SYNC_BOOST",
});

Field FromRow(const FieldRow& row, std::string_view prefix) {
  return {.name = format("{}{}", prefix, row.name),
          .other = *row.other == '\0' ? "" : format("{}{}", prefix, row.other),
          .level = row.level,
          .shape = row.shape,
          .from = row.from,
          .reading = row.reading,
          .factor = row.factor};
}

std::string WithLink(std::string name, unsigned link) {
  const size_t place = name.find("{}");
  return place == std::string::npos ? name : name.replace(place, 2, std::to_string(link));
}

Field OfLink(const FieldRow& row, unsigned link) {
  Field field = FromRow(row, kPrefix);
  field.name = WithLink(field.name, link);
  field.other = WithLink(field.other, link);
  field.reading = AtLink(field.from, field.reading, link);
  return field;
}

}  // namespace

nvml::Reading AtLink(From from, nvml::Reading reading, unsigned link) {
  if (from == From::kGpm) {
    reading.argument += 2 * link;  // those of a link stand together
  } else {
    reading.scope = link;
  }
  return reading;
}

std::vector<Field> AllFields() {
  std::vector<Field> all;
  for (const auto rows : {DeviceFields(), FaultFields(), NvLinkFields(), ProfileFields()}) {
    for (const FieldRow& row : rows) {
      all.push_back(FromRow(row, kPrefix));
    }
  }
  for (const FieldRow& row : LinkFields()) {
    for (unsigned link = 0; link < kLinks; ++link) {
      all.push_back(OfLink(row, link));
    }
  }
  for (const FieldRow& row : kOwnRows) {
    all.push_back(FromRow(row, kOwnPrefix));
  }
  return all;
}

namespace {

const std::vector<Field>& KnownFields() {
  static const std::vector<Field> kAll = AllFields();
  return kAll;
}

// By both names.
const std::map<std::string_view, const Field*>& FieldsByName() {
  static const auto kByName = [] {
    std::map<std::string_view, const Field*> by_name;
    for (const Field& field : KnownFields()) {
      by_name.emplace(field.name, &field);
      if (!field.other.empty()) {
        by_name.emplace(field.other, &field);
      }
    }
    return by_name;
  }();
  return kByName;
}

}  // namespace

std::optional<Field> FindField(std::string_view name) {
  if (const auto* old = std::ranges::find(kOldNames, name, &OldName::name);
      old != kOldNames.end()) {
    name = old->field;
  }
  const std::string upper = name.starts_with("dcgm_fi_prof_") ? Upper(name) : std::string(name);
  const auto found = FieldsByName().find(upper);
  return found == FieldsByName().end() ? std::nullopt : std::optional(*found->second);
}

bool IsDcgmOnly(std::string_view name) {
  const bool in_group = std::ranges::any_of(
      kOnlyDcgm, [name](std::string_view group) { return name.starts_with(group); });
  return in_group && !FindField(name);
}

namespace {

// How often each letter is in a name; some letters share a place.
using Letters = std::array<int, 32>;

Letters LettersOf(std::string_view name) {
  Letters letters{};
  for (const char c : name) {
    letters[static_cast<unsigned char>(c) % letters.size()]++;
  }
  return letters;
}

// No fewer letters have to be changed to make one word of the other. Cheaper than EditDistance.
size_t LeastDistance(const Letters& left, const Letters& right) {
  int more = 0;
  int fewer = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    const int difference = left[i] - right[i];
    (difference > 0 ? more : fewer) += std::abs(difference);
  }
  return static_cast<size_t>(std::max(more, fewer));
}

const std::vector<std::pair<std::string_view, Letters>>& KnownNames() {
  static const auto kNames = [] {
    std::vector<std::pair<std::string_view, Letters>> names;
    for (const Field& field : KnownFields()) {
      for (const std::string_view name :
           {std::string_view(field.other), std::string_view(field.name)}) {
        if (!name.empty()) {
          names.emplace_back(name, LettersOf(name));
        }
      }
    }
    return names;
  }();
  return kNames;
}

}  // namespace

std::string NearestName(std::string_view name) {
  std::string_view nearest;
  if (name.size() > kLongestMeant) {
    return "";
  }
  size_t least = name.size() / 3 + 1;  // more would be another name
  const Letters letters = LettersOf(name);
  for (const auto& [known, of_known] : KnownNames()) {
    if (LeastDistance(letters, of_known) >= least) {
      continue;
    }
    if (const size_t distance = EditDistance(name, known); distance < least) {
      least = distance;
      nearest = known;
    }
  }
  return std::string(nearest);
}

}  // namespace gantry::metrics_exporter
